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
  package var bytes: Int
  package var facts: ImageFacts
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
  /// Its place among the answers to one name, or under its picture for a form; nil if it is found under its own key
  /// alone.
  package var place: VariantPlace?
  package var tags: [String] = []
  /// A few bytes that stand for the picture; empty if there are none.
  package var description: [UInt8] = []
  /// The user for whom it counts, on this machine; nil if nobody knows.
  package var owner: UInt32?

  /// Whether the record is of this key, compared in full: a digest alone is no proof.
  package func isOf(_ key: CacheKey) -> Bool {
    sameBytes(url, key.url.text) && sameBytes(identifier ?? "", key.identifier ?? "")
      && (identifier == nil) == (key.identifier == nil) && variant == key.variant
  }

  /// Whether its answer is one of several to this name, compared in full: a part of a digest alone is no proof.
  func isNamed(_ base: CacheKey) -> Bool {
    sameBytes(url, base.url.text) && sameBytes(identifier ?? "", base.identifier ?? "") && place?.owner == base.variant
      && place != nil && !flags.contains(.form)
  }

  /// Part of a digest of its name, by which all answers to the name are found, or of its picture's; zero for a record
  /// that is found under its own key alone.
  var baseTag: UInt32 {
    guard let place else { return 0 }
    if flags.contains(.form) { return place.formBase }
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
    sane.tags = eachOnceInByteOrder(tags)
    return sane
  }

  /// An upper bound on the bytes of the encoded record.
  package var mostBytes: Int {
    let texts = [url, identifier ?? "", redirectTarget ?? ""] + tags
    return texts.reduce(256 + headers.count + varying.count + description.count) { $0 + 4 + $1.utf8.count }
  }

  /// A record of the same picture with the answer of another record.
  func renewed(by other: StoredRecord) -> StoredRecord {
    var renewed = other
    (renewed.url, renewed.identifier, renewed.digest) = (url, identifier, digest)
    renewed.variant = variant
    (renewed.bytes, renewed.facts, renewed.checksum) = (bytes, facts, checksum)
    if other.description.isEmpty { renewed.description = description }
    renewed.owner = other.owner ?? owner
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
  /// It is a form of another picture; the place names that picture (`VariantPlace.init(ofFormOf:)`).
  package static let form = RecordFlags(rawValue: 64)
  /// Its owner is written with it.
  static let owned = RecordFlags(rawValue: 128)

  package init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// The range of numbers that are written and read back. Even sums of many of them do not overflow, so
/// no sum has to be checked, not even with a forged file.
enum SaneRange {
  static let most: Int64 = 1 << 40
  static let numbers: ClosedRange<Int64> = 0...most

  static func clamped(_ number: Int64) -> Int64 { min(max(number, numbers.lowerBound), numbers.upperBound) }
}

/// The form in which a `StoredRecord` is kept, in the index file and between two processes.
///
///     checksum of what follows, version, then the fields in the order of `StoredRecord`
///
/// Decoding survives any bytes. A record that was cut or changed, is too long, or holds a number that is
/// never written decodes to nil.
enum RecordCodec {
  /// More than a record with the largest headers that are ever fetched.
  static let mostBytes = 1 << 20
  private static let version: UInt8 = 5

  /// The bytes of a record whose numbers are sane; nil when there would be too many bytes.
  static func encode(_ record: StoredRecord) -> [UInt8]? {
    var writer = ByteWriter(capacity: 256 + record.headers.count)
    writer.put(UInt64(0))
    writer.put(version)
    put(record, in: &writer)
    guard writer.bytes.count <= mostBytes else { return nil }
    writer.seal()
    return writer.bytes
  }

  /// Whether a record is short enough, with so many bytes that it has yet to get, judged without encoding it.
  static func hasRoom(for record: StoredRecord, and missing: Int = 0) -> Bool {
    record.mostBytes + missing <= mostBytes
  }

  static func decode(_ bytes: [UInt8]) -> StoredRecord? {
    guard bytes.count <= mostBytes else { return nil }
    var reader = ByteReader(bytes[...])
    guard reader.isSealed(), reader.number() == version else { return nil }
    let record = readRecord(&reader)
    return reader.isAtEnd && !reader.hasFailed ? record : nil
  }

  private static func put(_ record: StoredRecord, in writer: inout ByteWriter) {
    writer.put(record.url)
    writer.put(record.identifier)
    put(record.variant, in: &writer)
    writer.put(record.digest.high)
    writer.put(record.digest.low)
    writer.put(Int64(record.bytes))
    writer.put(record.facts.format)
    writer.put(record.facts.orientation)
    for size in [record.facts.width, record.facts.height, record.facts.frames] { writer.put(size) }
    writer.put(record.checksum.value)
    for time in [record.storedAt, record.freshUntil] { writer.put(time) }
    writer.put(Int64(record.status))
    writer.put(record.headers)
    writer.put(record.redirectTarget)
    for time in [record.initialAgeMs, record.lifetimeMs, record.whileRevalidateMs] { writer.put(time) }
    writer.put(record.ifErrorMs ?? silence)
    var flags = record.flags
    if record.owner == nil { flags.remove(.owned) } else { flags.insert(.owned) }
    writer.put(flags.rawValue)
    writer.put(record.varying)
    put(record.place, in: &writer)
    writer.put(UInt32(clamping: record.tags.count))
    for tag in record.tags { writer.put(tag) }
    writer.put(record.description)
    if let owner = record.owner { writer.put(owner) }
  }

  private static func put(_ variant: KeyVariant?, in writer: inout ByteWriter) {
    writer.put(UInt8(variant == nil ? 0 : 1))
    guard let variant else { return }
    writer.put(variant.high)
    writer.put(variant.low)
  }

  private static func put(_ place: VariantPlace?, in writer: inout ByteWriter) {
    writer.put(UInt8(place == nil ? 0 : 1))
    guard let place else { return }
    put(place.owner, in: &writer)
    writer.put(place.rest.high)
    writer.put(place.rest.low)
  }

  /// Written in place of a time that the origin does not name.
  private static let silence: Int64 = -1

  private static func readRecord(_ reader: inout ByteReader) -> StoredRecord {
    let (url, identifier) = (reader.text(), reader.optionalText())
    let variant = readVariant(&reader)
    let digest = KeyDigest(high: reader.number(), low: reader.number())
    let bytes = Int(sane(&reader))
    let facts = readFacts(&reader)
    var record = StoredRecord(
      url: url, identifier: identifier, variant: variant, digest: digest, bytes: bytes, facts: facts,
      checksum: BodyChecksum(reader.number()), storedAt: sane(&reader), freshUntil: sane(&reader))
    record.status = Int(reader.number(Int64.self))
    record.headers = reader.bytes()
    record.redirectTarget = reader.optionalText()
    record.initialAgeMs = sane(&reader)
    record.lifetimeMs = sane(&reader)
    record.whileRevalidateMs = sane(&reader)
    let ifError: Int64 = reader.number()
    if ifError != silence { record.ifErrorMs = sane(ifError, &reader) }
    record.flags = RecordFlags(rawValue: reader.number())
    record.varying = reader.bytes()
    record.place = readPlace(&reader)
    record.tags = readTags(&reader)
    record.description = reader.bytes()
    if record.flags.remove(.owned) != nil { record.owner = reader.number() }
    return record
  }

  private static func readVariant(_ reader: inout ByteReader) -> KeyVariant? {
    guard reader.number(UInt8.self) != 0 else { return nil }
    return KeyVariant(high: reader.number(), low: reader.number())
  }

  private static func readPlace(_ reader: inout ByteReader) -> VariantPlace? {
    guard reader.number(UInt8.self) != 0 else { return nil }
    let owner = readVariant(&reader)
    return VariantPlace(owner: owner, rest: Digest128(high: reader.number(), low: reader.number()))
  }

  private static func readFacts(_ reader: inout ByteReader) -> ImageFacts {
    let (format, orientation): (UInt8, UInt8) = (reader.number(), reader.number())
    let (width, height, frames): (Int32, Int32, Int32) = (reader.number(), reader.number(), reader.number())
    return ImageFacts(
      format: format, width: Int(width), height: Int(height), frames: Int(frames), orientation: Int(orientation))
  }

  /// Reads tags one at a time: a forged count does no harm, since reading ends with the bytes.
  private static func readTags(_ reader: inout ByteReader) -> [String] {
    var left: UInt32 = reader.number()
    var tags: [String] = []
    while left > 0, !reader.hasFailed {
      tags.append(reader.text())
      left -= 1
    }
    return tags
  }

  private static func sane(_ reader: inout ByteReader) -> Int64 { sane(reader.number(), &reader) }

  private static func sane(_ number: Int64, _ reader: inout ByteReader) -> Int64 {
    if SaneRange.numbers ~= number { return number }
    reader.fail()
    return 0
  }
}
