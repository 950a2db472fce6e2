@testable import ImgdCache
@testable import ImgdSystem
@testable import ImgdText

/// Records of pictures, made of choices, and bytes under a valid checksum.
enum PlannedRecord {
  private static let urls = [
    "http://a/b", "https://www.example.org/a.jpg?x=1", "s3://bucket/key", "http://[::1]:81/", "", "fd:00", "http://",
    "HTTP://A/B", "ü",
  ]
  private static let headers: [HeaderList] = [
    [], [("etag", "\"1\""), ("vary", "accept")], [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("x", "")],
  ]

  static func make(_ choices: inout Choices) -> StoredRecord {
    let url = choices.pick(urls)
    let identifier = choices.pick([nil, "", "i", "e\u{301}"])
    let variant = choices.flag() ? KeyVariant(high: choices.number(), low: choices.number()) : nil
    let facts = ImageFacts(
      format: choices.byte(), width: choices.number(Int32.self).int, height: choices.number(Int32.self).int,
      frames: choices.number(Int32.self).int, orientation: Int(choices.byte()))
    var record = StoredRecord(
      url: url, identifier: identifier, variant: variant,
      digest: KeyDigest(url: url, identifier: identifier, variant: variant), bytes: choices.number(Int16.self).int,
      facts: choices.byte() == 7 ? .none : facts, storedAt: choices.number(), freshUntil: choices.number())
    record.checksum = BodyChecksum(choices.number())
    record.status = choices.pick([200, 404, 0, -1, .max])
    record.headers = packed(&choices)
    record.varying = packed(&choices)
    record.redirectTarget = choices.pick([nil, "", "https://elsewhere.example/"])
    record.initialAgeMs = choices.number()
    record.lifetimeMs = choices.number()
    record.whileRevalidateMs = choices.number()
    record.ifErrorMs = choices.flag() ? choices.number() : nil
    record.flags = RecordFlags(rawValue: choices.byte() & 127)
    if choices.flag() {
      let owner = choices.flag() ? KeyVariant(high: 0, low: choices.number()) : nil
      record.place = VariantPlace(owner: owner, rest: Digest128(high: choices.number(), low: choices.number()))
    }
    record.tags = (0..<Int(choices.byte()) % 4).map { _ in choices.pick(["a", "b", "", "e\u{301}", "@7"]) }
    record.description = choices.bytes(Int(choices.byte()) % 16)
    record.owner = choices.flag() ? choices.number() : nil
    return record
  }

  private static func packed(_ choices: inout Choices) -> [UInt8] {
    choices.flag() ? StoredHeaders(choices.pick(headers)).packed : choices.bytes(Int(choices.byte()) % 32)
  }

  /// Bytes with eight in front that are their checksum.
  static func sealed(_ bytes: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.put(RowSeal.ofSealed((Array(repeating: 0, count: 8) + bytes).span))
    return writer.bytes + bytes
  }
}

extension FixedWidthInteger { fileprivate var int: Int { Int(self) } }

extension FuzzTarget {
  /// What outlives a process of a picture, from bytes that anybody may have changed.
  static let record = FuzzTarget(
    "record",
    of: [
      "ImgdCache/Record/StoredRecord.swift", "ImgdCache/Record/ImageRecord.swift", "ImgdCache/Record/ByteWriter.swift",
    ]
  ) { bytes in
    expect(RecordCodec.decode(bytes) == nil || bytes.count >= 9, "a record has a checksum")
    guard bytes.count % 2 == 0 else { return checkRecord(RecordCodec.decode(PlannedRecord.sealed(bytes))) }
    var choices = Choices(bytes)
    let made = PlannedRecord.make(&choices).sane
    guard let encoded = RecordCodec.encode(made) else { fatalError("a short record has a form") }
    expect(encoded.count <= made.mostBytes, "which is as short as was said")
    expect(RecordCodec.decode(encoded) == made, "a record survives being written and read")
    checkRecord(made)
    var changed = encoded
    let place = Int(choices.number(UInt16.self)) % changed.count
    changed[place] ^= 1 << (choices.byte() & 7)
    expect(RecordCodec.decode(changed) == nil, "a bit that was turned shows")
  }

  private static func checkRecord(_ record: StoredRecord?) {
    guard let record else { return }
    expect(RecordCodec.encode(record).flatMap(RecordCodec.decode) == record, "what was read can be written")
    expect(SaneRange.numbers ~= Int64(record.bytes) && SaneRange.numbers ~= record.lifetimeMs, "it is sane")
    guard let url = try? CanonicalURL.parse(record.url) else { return }
    let key = CacheKey(
      url: url, identifier: record.identifier, variant: record.variant, knownDigest: record.digest)
    let now = Instant(nanoseconds: 1 << 50)
    guard let image = CachedImage.make(record, key: key, payload: nil, wall: 1_700_000_000, at: now) else { return }
    expect(image.cost > 0 && image.byteCount == min(record.bytes, Int(UInt32.max)), "its image is of its size")
    _ = image.state(at: now)
    guard let again = StoredRecord(image, wall: 1_700_000_000, at: now) else { return }
    expect(again.digest == record.digest && again.facts == record.facts, "an image keeps what it was made of")
    expect(again.headers.isEmpty == record.headers.isEmpty, "and its fields")
    expect(RecordCodec.encode(again.sane) != nil, "and can be stored again")
  }
}
