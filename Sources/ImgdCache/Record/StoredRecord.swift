/// All that is known of a picture and outlives a process, except its bytes.
///
/// The index file keeps it for each picture on disk, and one process leaves it to the next for each
/// picture in memory; `RecordCodec` is the form that both have. Times are seconds since 1970.
package struct StoredRecord: Sendable, Equatable {
  /// The canonical one.
  package var url: String
  package var identifier: String?
  package var variant: KeyVariant?
  package var digest: KeyDigest
  /// How many bytes the picture has.
  package var bytes: Int
  package var facts: ImageFacts
  /// Of the bytes.
  package var checksum = BodyChecksum(0)
  package var storedAt: Int64
  /// Zero: the origin has to confirm it before it is used.
  package var freshUntil: Int64
  package var status = 200
  /// Names and values, as `StoredHeaders` packs them.
  package var headers: [UInt8] = []
  /// The URL that it redirects to, absolute; nil for any other answer.
  package var redirectTarget: String?
  package var initialAgeMs: Int64 = 0
  package var lifetimeMs: Int64 = 0
  package var whileRevalidateMs: Int64 = 0
  /// Nil where the origin does not say.
  package var ifErrorMs: Int64?
  package var flags: RecordFlags = []
  /// The request headers that the answer depends on, packed like `headers`.
  package var varying: [UInt8] = []
  /// Where the answer stands among the others to its name; nil for one that is found under its key alone.
  package var place: VariantPlace?
  package var tags: [String] = []
  /// A few bytes that stand for the picture; empty without.
  package var description: [UInt8] = []

  package init(
    url: String, identifier: String? = nil, variant: KeyVariant? = nil, digest: KeyDigest,
    bytes: Int, facts: ImageFacts,
    storedAt: Int64, freshUntil: Int64
  ) {
    self.url = url
    self.identifier = identifier
    self.variant = variant
    self.digest = digest
    self.bytes = bytes
    self.facts = facts
    self.storedAt = storedAt
    self.freshUntil = freshUntil
  }

  /// Whether it is about this key; a digest alone is no proof.
  func isOf(_ key: CacheKey) -> Bool {
    sameBytes(url, key.url.text) && sameBytes(identifier ?? "", key.identifier ?? "")
      && (identifier == nil) == (key.identifier == nil) && variant == key.variant
  }

  /// Whether its answer is one of those to this name; the end of a digest alone is no proof.
  func isNamed(_ base: CacheKey) -> Bool {
    sameBytes(url, base.url.text) && sameBytes(identifier ?? "", base.identifier ?? "")
      && place?.owner == base.variant && place != nil
  }

  /// Finds the record among others of its name: a digest of the name, and zero for one that is found under
  /// its key alone.
  var baseTag: UInt32 {
    guard let place else { return 0 }
    return KeyDigest(url: url, identifier: identifier, variant: place.owner).tag
  }

  /// With numbers in the range that is read back, and each tag once, in the order of their bytes.
  var sane: StoredRecord {
    var sane = self
    sane.bytes = Int(SaneRange.clamped(Int64(bytes)))
    sane.storedAt = SaneRange.clamped(storedAt)
    sane.freshUntil = SaneRange.clamped(freshUntil)
    sane.initialAgeMs = SaneRange.clamped(initialAgeMs)
    sane.lifetimeMs = SaneRange.clamped(lifetimeMs)
    sane.whileRevalidateMs = SaneRange.clamped(whileRevalidateMs)
    sane.ifErrorMs = ifErrorMs.map(SaneRange.clamped)
    sane.tags = inByteOrder(tags)
    return sane
  }

  /// The same picture with the answer of another record.
  func renewed(by other: StoredRecord) -> StoredRecord {
    var renewed = other
    (renewed.url, renewed.identifier, renewed.digest) = (url, identifier, digest)
    renewed.variant = variant
    (renewed.bytes, renewed.facts, renewed.checksum) = (bytes, facts, checksum)
    if other.description.isEmpty { renewed.description = description }
    return renewed
  }
}

/// Every yes or no of a record.
package struct RecordFlags: OptionSet, Sendable {
  package let rawValue: UInt8

  package static let needsConfirmation = RecordFlags(rawValue: 1)
  package static let mustRevalidate = RecordFlags(rawValue: 2)
  package static let immutable = RecordFlags(rawValue: 4)
  /// It was not redirected, depends on no header of the request, and was new when it came: a plain
  /// answer says nothing that the index in memory does not know.
  package static let plain = RecordFlags(rawValue: 8)
  /// A public address sent it: where it redirects to, private addresses are not reached for its sake.
  package static let publicAddress = RecordFlags(rawValue: 16)
  package static let openOnlyWhileFresh = RecordFlags(rawValue: 32)

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }
}

/// The numbers that are written and read back: sums of many of them are still far from the end of
/// their type, so that no sum of them has to be checked for a forged file.
enum SaneRange {
  static let most: Int64 = 1 << 40
  static let numbers: ClosedRange<Int64> = 0...most

  static func clamped(_ number: Int64) -> Int64 {
    min(max(number, numbers.lowerBound), numbers.upperBound)
  }
}

private func inByteOrder(_ tags: [String]) -> [String] {
  var sorted: [String] = []
  for tag in tags.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
    if let last = sorted.last, sameBytes(last, tag) { continue }
    sorted.append(tag)
  }
  return sorted
}
