internal import ImgdSystem

/// One picture of a memory tier, as the next process is told of it.
struct HandoverEntry: Equatable {
  /// Where its bytes are.
  enum Body: Equatable {
    /// In the memfd that the index names, from here on.
    case packed(UInt32)
    /// In a memfd of its own, which is sealed: if it is the same one it has the same bytes.
    case memory(FileStatus.Identity)
  }

  /// Described as for the disk; its number is that of its file there.
  let row: IndexRow
  /// Marked by a soft purge; the row tells that only of those that were fresh.
  let isStale: Bool
  let body: Body

  /// About as many bytes as it takes in an index.
  var roughCount: Int { 256 + row.headers.count }
}

extension HandoverWriter {
  mutating func put(_ entry: HandoverEntry) {
    put(entry.row)
    put(UInt8(entry.isStale ? 1 : 0))
    switch entry.body {
    case .packed(let start):
      put(UInt8(0))
      put(start)
    case .memory(let identity):
      put(UInt8(1))
      put(identity)
    }
  }

  mutating func put(_ identity: FileStatus.Identity) {
    put(identity.device)
    put(identity.inode)
  }

  private mutating func put(_ row: IndexRow) {
    put(row.record)
    put(row.url)
    put(row.identifier)
    put(Int64(row.status))
    put(row.headers)
    put(row.finalURL)
    for time in [row.initialAgeMs, row.lifetimeMs, row.whileRevalidateMs] { put(time) }
    put(UInt8(row.ifErrorMs == nil ? 0 : 1))
    put(row.ifErrorMs ?? 0)
    put(row.freshnessFlags)
    put(row.varying)
    put(UInt32(clamping: row.tags.count))
    for tag in row.tags { put(tag) }
  }

  private mutating func put(_ record: IndexRecord) {
    put(record.number)
    put(record.digestHigh)
    put(record.digestLow)
    put(Int64(record.bytes))
    for time in [record.storedAt, record.lastAccess, record.freshUntil] { put(time) }
    put(UInt16(record.format) << 8 | UInt16(record.orientation))
    for size in [record.width, record.height, record.frames] { put(size) }
    put(record.flags)
  }
}

extension HandoverReader {
  /// The next entry; nil when there is none that can be understood.
  mutating func entry() -> HandoverEntry? {
    let row = row()
    let isStale = number(UInt8.self) != 0
    let body: HandoverEntry.Body
    switch number(UInt8.self) {
    case 0: body = .packed(number())
    case 1: body = .memory(identity())
    default: return nil
    }
    return hasFailed ? nil : HandoverEntry(row: row, isStale: isStale, body: body)
  }

  mutating func identity() -> FileStatus.Identity {
    FileStatus.Identity(device: number(), inode: number())
  }

  private mutating func row() -> IndexRow {
    var row = IndexRow(record: record(), url: text(), host: "", identifier: optionalText())
    row.status = Int(number(Int64.self))
    row.headers = bytes()
    row.finalURL = optionalText()
    row.initialAgeMs = number()
    row.lifetimeMs = number()
    row.whileRevalidateMs = number()
    let saysIfError = number(UInt8.self) != 0
    let ifError = number(Int64.self)
    row.ifErrorMs = saysIfError ? ifError : nil
    row.freshnessFlags = number()
    row.varying = bytes()
    // One at a time: a number that lies ends with the bytes.
    var tags: UInt32 = number()
    while tags > 0, !hasFailed {
      row.tags.append(text())
      tags -= 1
    }
    return row
  }

  private mutating func record() -> IndexRecord {
    let file: UInt32 = number()
    let (high, low): (UInt64, UInt64) = (number(), number())
    let bytes = Int(number(Int64.self))
    let (stored, used, fresh): (Int64, Int64, Int64) = (number(), number(), number())
    let kind: UInt16 = number()
    let (width, height, frames): (Int32, Int32, Int32) = (number(), number(), number())
    return IndexRecord(
      number: file, digestHigh: high, digestLow: low, bytes: bytes, allocated: 0,
      storedAt: stored, lastAccess: used, freshUntil: fresh, format: UInt8(kind >> 8),
      orientation: UInt8(truncatingIfNeeded: kind), width: width, height: height, frames: frames,
      flags: number())
  }
}
