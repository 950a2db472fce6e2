/// Everything known of a picture that outlives a process, except its bytes.
///
/// The index file keeps one for each picture on disk, and a process leaves one to the next for each
/// picture in memory; both use the form of `RecordCodec`. Times are seconds since 1970.
package struct StoredRecord: Sendable, Equatable {
  /// The canonical URL.
  package var url: String
  package var identifier: String?
  package var variant: KeyVariant?
  package var digest: KeyDigest
  /// How many bytes the picture has.
  package var bytes: Int
  package var facts: ImageFacts
  /// The checksum of the picture's bytes.
  package var checksum = BodyChecksum(0)
  package var storedAt: Int64
  /// Zero if the origin has to confirm the picture before it is used.
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
  /// Its place among the answers to one name; nil if it is found under its own key alone.
  package var place: VariantPlace?
  package var tags: [String] = []
  /// A few bytes that stand for the picture; empty if there are none.
  package var description: [UInt8] = []

  package init(
    url: String, identifier: String? = nil, variant: KeyVariant? = nil, digest: KeyDigest, bytes: Int,
    facts: ImageFacts, storedAt: Int64, freshUntil: Int64
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

  /// Whether the record is of this key, compared in full: a digest alone is no proof.
  func isOf(_ key: CacheKey) -> Bool {
    sameBytes(url, key.url.text) && sameBytes(identifier ?? "", key.identifier ?? "")
      && (identifier == nil) == (key.identifier == nil) && variant == key.variant
  }

  /// Whether its answer is one of several to this name, compared in full: a part of a digest alone is no proof.
  func isNamed(_ base: CacheKey) -> Bool {
    sameBytes(url, base.url.text) && sameBytes(identifier ?? "", base.identifier ?? "") && place?.owner == base.variant
      && place != nil
  }

  /// Part of a digest of its name, by which all answers to the name are found; zero for a record that is found
  /// under its own key alone.
  var baseTag: UInt32 {
    guard let place else { return 0 }
    return KeyDigest(url: url, identifier: identifier, variant: place.owner).tag
  }

  /// The record with its numbers clamped to the range that can be read back, and each tag once, in byte order.
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

  /// A record of the same picture with the answer of another record.
  func renewed(by other: StoredRecord) -> StoredRecord {
    var renewed = other
    (renewed.url, renewed.identifier, renewed.digest) = (url, identifier, digest)
    renewed.variant = variant
    (renewed.bytes, renewed.facts, renewed.checksum) = (bytes, facts, checksum)
    if other.description.isEmpty { renewed.description = description }
    return renewed
  }
}

/// The yes-or-no properties of a record.
package struct RecordFlags: OptionSet, Sendable {
  package let rawValue: UInt8

  package static let needsConfirmation = RecordFlags(rawValue: 1)
  package static let mustRevalidate = RecordFlags(rawValue: 2)
  package static let immutable = RecordFlags(rawValue: 4)
  /// The answer is not a redirect, depends on no header of the request, and was new when it came: all that a
  /// plain answer says is also in the index in memory.
  package static let plain = RecordFlags(rawValue: 8)
  /// A public address sent it: if it is a redirect, it must not lead to a private address.
  package static let publicAddress = RecordFlags(rawValue: 16)
  package static let openOnlyWhileFresh = RecordFlags(rawValue: 32)

  package init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// The range of numbers that are written and read back. Even sums of many of them do not overflow, so
/// no sum has to be checked, not even with a forged file.
enum SaneRange {
  static let most: Int64 = 1 << 40
  static let numbers: ClosedRange<Int64> = 0...most

  static func clamped(_ number: Int64) -> Int64 { min(max(number, numbers.lowerBound), numbers.upperBound) }
}

private func inByteOrder(_ tags: [String]) -> [String] {
  var sorted: [String] = []
  for tag in tags.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
    if let last = sorted.last, sameBytes(last, tag) { continue }
    sorted.append(tag)
  }
  return sorted
}
