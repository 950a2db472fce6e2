import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct FleetValueTests {
  private let picture = TestedPicture(count: 300)

  private func value(_ change: (inout StoredRecord) -> Void = { _ in }) -> FleetValue {
    var record = picture.record
    change(&record)
    return FleetValue(
      begunAt: 1_700_000_000_123, storedAt: 1_700_000_000_456,
      mark: FleetPosition(generation: .max, number: 3, nonce: 1 << 63), stamp: 0x1122_3344_5566,
      record: record, payload: picture.payload)
  }

  private func decode(
    _ bytes: [UInt8], under digest: KeyDigest? = nil
  ) -> Result<FleetValue, FleetValueProblem> {
    FleetValue.decode(ArrivedValue(bytes), under: digest ?? picture.digest)
  }

  @Test func `a value is read as it was written`() throws {
    let written = value()
    let read = try decode(try #require(written.bytes)).get()
    #expect(read.begunAt == written.begunAt && read.storedAt == written.storedAt)
    #expect(read.mark == written.mark && read.stamp == written.stamp)
    #expect(read.record == written.record)
    #expect(read.payload.bytes == written.payload.bytes)
  }

  @Test func `the head is where scripts look for it`() throws {
    let bytes = try #require(value().bytes)
    #expect(Array(bytes[..<8]) == Array("IMGF".utf8) + [1, 0, 0, 0])
    let begun = bytes[8..<16].reduce(0) { $0 << 8 | Int64($1) }
    #expect(begun == 1_700_000_000_123)
    let head = FleetValue.Head(bytes.span)
    #expect(head?.stamp == 0x1122_3344_5566 && head?.bodyCount == 300)
  }

  @Test func `a value that was cut or made longer anywhere gives nothing`() throws {
    let bytes = try #require(value().bytes)
    for count in 0..<bytes.count {
      guard case .failure = decode(Array(bytes[..<count])) else {
        throw TestFailure("\(count) bytes are enough")
      }
    }
    guard case .failure(.damaged) = decode(bytes + [0]) else { throw TestFailure("one more") }
  }

  @Test func `a value with any byte changed gives nothing`() throws {
    let bytes = try #require(value().bytes)
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1 << UInt8(index % 8)
      guard case .failure(let problem) = decode(changed) else {
        throw TestFailure("byte \(index) does not count")
      }
      #expect(problem == (index < 8 ? .foreign : .damaged))
    }
  }

  @Test func `a value belongs under one key`() throws {
    let other = KeyDigest(url: "http://o/b.png", identifier: nil)
    let bytes = try #require(value().bytes)
    #expect(throws: FleetValueProblem.foreign) { try decode(bytes, under: other).get() }
    let named = try #require(value { $0.digest = other }.bytes)
    #expect(throws: FleetValueProblem.foreign) { try decode(named, under: other).get() }
    #expect(throws: FleetValueProblem.foreign) { try decode(named).get() }
  }

  @Test func `only a whole picture with a short record is written`() {
    #expect(value { $0.bytes = 299 }.bytes == nil)
    #expect(value { $0.headers = [UInt8](repeating: 1, count: 64 * 1024) }.bytes == nil)
    let record = TestedPicture(count: 0).record
    let empty = FleetValue(
      begunAt: 0, storedAt: 0, mark: FleetPosition(generation: 1, number: 0, nonce: 0), stamp: 1,
      record: record, payload: Payload([]))
    #expect(empty.bytes == nil)
  }

  @Test func `a checksum that is not known is taken`() throws {
    let bytes = try #require(value { $0.checksum = .unknown }.bytes)
    #expect(try decode(bytes).get().record.checksum == picture.record.checksum)
  }
}

extension FleetValue {
  /// As the server has it.
  fileprivate var bytes: [UInt8]? { front.map { $0 + payload.bytes } }
}
