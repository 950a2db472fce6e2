import ImgdSystem
import Testing

@testable import ImgdCache

struct RecordCodecTests {
  private static let record: StoredRecord = {
    var record = sampleRow(3, identifier: "ü", tags: ["a", "e\u{301}"]).record
    record.headers = StoredHeaders([("etag", "\"1\""), ("vary", "accept")]).packed
    record.varying = StoredHeaders([("accept", "image/png")]).packed
    record.redirectTarget = "https://elsewhere.example/"
    record.ifErrorMs = 0
    record.variant = KeyVariant(high: 5, low: .max)
    record.description = [9, 8, 7]
    record.place = VariantPlace(
      owner: KeyVariant(high: 0, low: 6), rest: Digest128(high: .max, low: 1))
    return record
  }()

  private static func encoded() throws -> [UInt8] {
    try #require(RecordCodec.encode(record))
  }

  @Test func `a record keeps every field, and missing values apart from empty or zero ones`() throws {
    var records = [Self.record, sampleRow(1).record]
    records[1].redirectTarget = ""
    for var record in records {
      for ifError in [nil, 0, SaneRange.most] as [Int64?] {
        record.ifErrorMs = ifError
        #expect(RecordCodec.decode(try #require(RecordCodec.encode(record))) == record)
      }
    }
  }

  @Test func `a record has the same bytes on every machine, as it is part of the layout`() throws {
    let encoded = try Self.encoded()
    #expect(encoded.count == 330)
    #expect(encoded.prefix(9) == [153, 100, 212, 80, 7, 171, 215, 197, 5])
  }

  @Test func `a cut or longer record is refused`() throws {
    let whole = try Self.encoded()
    for count in 0..<whole.count {
      #expect(RecordCodec.decode(Array(whole.prefix(count))) == nil)
      #expect(RecordCodec.decode(resealed(Array(whole.prefix(count)))) == nil)
    }
    #expect(RecordCodec.decode(whole + [0]) == nil)
    #expect(RecordCodec.decode(resealed(whole + [0])) == nil)
  }

  @Test func `a record with a changed byte is refused`() throws {
    let whole = try Self.encoded()
    for place in whole.indices {
      var changed = whole
      changed[place] ^= 0x20
      #expect(RecordCodec.decode(changed) == nil)
    }
  }

  @Test func `any bytes under a valid checksum are read without a trap, and so is their image`()
    throws
  {
    let whole = try Self.encoded()
    for place in 8..<whole.count {
      for value: UInt8 in [0, 1, 0x7f, 0x80, 0xff] {
        var forged = whole
        forged[place] = value
        use(forged)
      }
      // Numbers of eight bytes at their ends.
      for top: UInt8 in [0x7f, 0x80, 0xff] where place + 8 <= whole.count {
        var forged = whole
        for offset in 0..<7 { forged[place + offset] = top == 0x80 ? 0 : 0xff }
        forged[place + 7] = top
        use(forged)
      }
    }
  }

  private func use(_ bytes: [UInt8]) {
    guard let record = RecordCodec.decode(resealed(bytes)) else { return }
    #expect(record.sane.bytes == record.bytes && record.sane.storedAt == record.storedAt)
    let image = CachedImage.make(
      record, key: key("https://example.org/a"), payload: Payload([1]), wall: 1_000_000, at: at(5))
    #expect((image?.age(at: at(6)) ?? 0) >= 0 && (image?.freshFor(at: at(6)) ?? 0) >= 0)
    _ = image?.state(at: at(1 << 30))
  }

  @Test func `a record that is too long is refused`() {
    var record = Self.record
    record.headers = [UInt8](repeating: 0, count: RecordCodec.mostBytes - 1_000)
    #expect(RecordCodec.hasRoom(for: record) && RecordCodec.encode(record) != nil)
    record.headers += [UInt8](repeating: 0, count: 1_000)
    #expect(!RecordCodec.hasRoom(for: record) && RecordCodec.encode(record) == nil)
    let long = [UInt8](repeating: 0, count: RecordCodec.mostBytes + 1)
    #expect(RecordCodec.decode(resealed(long)) == nil)
  }
}

/// The same bytes under a checksum that fits them.
func resealed(_ bytes: [UInt8]) -> [UInt8] {
  guard bytes.count >= 8 else { return bytes }
  var front = ByteWriter()
  front.put(RowSeal.ofSealed(bytes.span))
  return front.bytes + bytes.dropFirst(8)
}
