/// The numbers that are written and read back: sums of many of them are still far from the end of
/// their type, so that nobody who reckons with them has to think of a forged file.
enum IndexRange {
  static let numbers: ClosedRange<Int64> = 0...1 << 40

  static func sane(_ number: Int64) -> Int64 {
    min(max(number, numbers.lowerBound), numbers.upperBound)
  }
}

extension IndexRecord {
  var sane: IndexRecord {
    var sane = self
    sane.bytes = Int(IndexRange.sane(Int64(bytes)))
    sane.allocated = Int(IndexRange.sane(Int64(allocated)))
    sane.storedAt = IndexRange.sane(storedAt)
    sane.lastAccess = IndexRange.sane(lastAccess)
    sane.freshUntil = IndexRange.sane(freshUntil)
    return sane
  }
}

extension IndexRow {
  /// With numbers in range, and the host and the tags as they are read back.
  var sane: IndexRow {
    var sane = self
    sane.record = record.sane
    sane.host = HostOrder(host).host
    sane.initialAgeMs = IndexRange.sane(initialAgeMs)
    sane.lifetimeMs = IndexRange.sane(lifetimeMs)
    sane.whileRevalidateMs = IndexRange.sane(whileRevalidateMs)
    sane.ifErrorMs = ifErrorMs.map(IndexRange.sane)
    sane.tags = inByteOrder(tags)
    return sane
  }

  /// The same file with another answer.
  func renewed(by row: IndexRow) -> IndexRow {
    var renewed = row
    renewed.record = record
    renewed.record.storedAt = row.record.storedAt
    renewed.record.lastAccess = row.record.lastAccess
    renewed.record.freshUntil = row.record.freshUntil
    renewed.record.flags = row.record.flags
    (renewed.url, renewed.host, renewed.identifier) = (url, host, identifier)
    (renewed.checksumHigh, renewed.checksumLow) = (checksumHigh, checksumLow)
    renewed.suffix = suffix
    return renewed
  }
}

/// As SQLite sorts texts, each once.
private func inByteOrder(_ tags: [String]) -> [String] {
  var sorted: [String] = []
  for tag in tags.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
    if let last = sorted.last, sameBytes(last, tag) { continue }
    sorted.append(tag)
  }
  return sorted
}
