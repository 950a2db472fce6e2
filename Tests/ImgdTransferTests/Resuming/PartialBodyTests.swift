import ImgdSystem
import Testing

@testable import ImgdTransfer

@Suite("A partial body")
struct PartialBodyTests {
  private static let sound = ["ETag: \"1\"", "Accept-Ranges: bytes", "Content-Length: 1000"]

  @Test("is of a 200 alone", arguments: [201, 203, 204, 206, 304, 404, 500])
  func status(status: Int) {
    #expect(PartialBody(of: .collected(200, Self.sound), total: 1_000) != nil)
    #expect(PartialBody(of: .collected(status, Self.sound), total: 1_000) == nil)
  }

  @Test(
    "is of an origin that knows ranges",
    arguments: [
      (["Accept-Ranges: bytes"], true), (["accept-ranges: BYTES"], true),
      (["Accept-Ranges: lines , bytes"], true),
      (["Accept-Ranges: a", "Accept-Ranges: bytes"], true),
      ([], false), (["Accept-Ranges: none"], false), (["Accept-Ranges:"], false),
      (["Accept-Ranges: kilobytes"], false),
    ])
  func ranges(fields: [String], isKept: Bool) {
    let head = HeadCollector.collected(200, fields + ["ETag: \"1\""])
    #expect((PartialBody(of: head, total: nil) != nil) == isKept)
  }

  @Test("is of plain bytes with a strong validator")
  func plain() {
    let packed = Self.sound + ["Content-Encoding: gzip"]
    #expect(PartialBody(of: .collected(200, packed), total: 1_000) == nil)
    let weak = ["ETag: W/\"1\"", "Accept-Ranges: bytes"]
    #expect(PartialBody(of: .collected(200, weak), total: 1_000) == nil)
  }

  @Test(
    "waits for another transfer unless it must not be stored",
    arguments: [
      ([], true), (["Cache-Control: max-age=5"], true), (["Cache-Control: no-cache"], true),
      (["Cache-Control: no-store"], false), (["Cache-Control: max-age=5, No-Store"], false),
      (["Cache-Control: a", "Cache-Control: private"], false),
      (["Cache-Control: private=\"set-cookie\""], false),
    ])
  func storing(fields: [String], mayBeStored: Bool) throws {
    let partial = try #require(PartialBody(of: .collected(200, Self.sound + fields), total: 1_000))
    #expect(partial.mayBeStored == mayBeStored)
  }

  @Test(
    "takes only what fits behind it",
    arguments: [
      (["Content-Range: bytes 600-999/1000"], 400, true),
      (["Content-Range: bytes 600-999/1000"], nil, true),
      (["Content-Range: bytes 600-799/1000"], 200, true),
      (["Content-Range: bytes 600-999/1000"], 399, false),
      (["Content-Range: bytes 599-999/1000"], nil, false),
      (["Content-Range: bytes 601-999/1000"], nil, false),
      (["Content-Range: bytes 0-999/1000"], nil, false),
      (["Content-Range: bytes 600-1000/1001"], nil, false),
      (["Content-Range: bytes 600-998/999"], nil, false),
      (["Content-Range: bytes 600-999/*"], nil, false),
      (["Content-Type: multipart/byteranges; boundary=x"], nil, false),
      (["Content-Range: bytes 600-999/1000", "Content-Encoding: gzip"], nil, false),
      ([], 400, false),
    ] as [([String], Int?, Bool)])
  func fitting(fields: [String], length: Int?, fits: Bool) throws {
    let partial = try partial(of: 600, total: 1_000)
    let range = partial.range(addedBy: .collected(206, fields + ["ETag: \"1\""]), length: length)
    #expect((range != nil) == fits)
    let other = HeadCollector.collected(206, fields + ["ETag: \"2\""])
    #expect(partial.range(addedBy: other, length: length) == nil)
  }

  @Test("of unknown length learns it from the rest")
  func learning() throws {
    let partial = try partial(of: 600, total: nil)
    let fields = ["ETag: \"1\"", "Content-Range: bytes 600-700/701"]
    #expect(partial.range(addedBy: .collected(206, fields), length: nil)?.total == 701)
  }

  @Test("asks for the rest, of the same version")
  func headers() throws {
    let fields = try partial(of: 600, total: 1_000).headers
    #expect(fields == [HeaderField("Range", "bytes=600-"), HeaderField("If-Range", "\"1\"")])
  }

  @Test("gets a head of what the parts have said")
  func head() {
    let start = HeadCollector.collected(
      200,
      [
        "ETag: \"1\"", "X-Old: 1", "Set-Cookie: a", "Transfer-Encoding: chunked", "Date: then",
      ])
    let rest = HeadCollector.collected(
      206,
      ["ETag: \"1\"", "Date: now", "Content-Length: 4", "Content-Range: bytes 6-9/10", "X-New: 2"])
    let whole = rest.continuing(start, total: 10).head(finalURL: nil)
    #expect(whole.status == 200)
    let expected = [
      ("x-old", "1"), ("set-cookie", "a"), ("etag", "\"1\""), ("date", "now"), ("x-new", "2"),
      ("content-length", "10"),
    ]
    #expect(whole.headers == expected.map { HeaderField($0, $1) })
  }

  private func partial(of count: Int, total: Int?) throws -> PartialBody {
    let partial = try #require(PartialBody(of: .collected(200, Self.sound), total: total))
    try sample(count).withUnsafeBytes { try partial.bytes.append($0) }
    return partial
  }
}

@Suite("Partial bodies that wait")
struct PartialBodiesTests {
  private let start = Instant(nanoseconds: 0)

  private func key(_ number: Int) -> PartialKey {
    PartialKey(url: "http://a/\(number)", ordered: [], sent: [])
  }

  private func partial(_ count: Int, also field: String = "X: y") throws -> PartialBody {
    let head = HeadCollector.collected(200, ["ETag: \"1\"", "Accept-Ranges: bytes", field])
    let partial = try #require(PartialBody(of: head, total: nil))
    try [UInt8](repeating: 7, count: count).withUnsafeBytes { try partial.bytes.append($0) }
    return partial
  }

  @Test("are handed out once, for the same key alone")
  func once() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(5), for: key(1), at: start)
    #expect(bodies.take(key(2), at: start) == nil)
    let token = [HeaderField("Authorization", "a")]
    #expect(bodies.take(PartialKey(url: "http://a/1", ordered: token, sent: []), at: start) == nil)
    #expect(bodies.take(PartialKey(url: "http://a/1", ordered: [], sent: token), at: start) == nil)
    #expect(bodies.take(key(1), at: start)?.count == 5)
    #expect(bodies.take(key(1), at: start) == nil)
    #expect(bodies.bytes == 0)
  }

  @Test("make room for the latest under the same key")
  func replaced() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(5), for: key(1), at: start)
    bodies.add(try partial(7), for: key(1), at: start)
    #expect(bodies.count == 1 && bodies.bytes == 7)
    #expect(bodies.take(key(1), at: start)?.count == 7)
  }

  @Test("are few: the oldest go")
  func number() throws {
    var bodies = PartialBodies()
    for number in 0...PartialBodies.most { bodies.add(try partial(1), for: key(number), at: start) }
    #expect(bodies.count == PartialBodies.most)
    #expect(bodies.take(key(0), at: start) == nil)
    #expect(bodies.take(key(1), at: start) != nil)
  }

  @Test("are small together, and none is too large by itself")
  func size() throws {
    var bodies = PartialBodies()
    for number in 0..<4 { bodies.add(try partial(10 << 20), for: key(number), at: start) }
    #expect(bodies.count == 3 && bodies.bytes == 30 << 20)
    bodies.add(try partial(PartialBodies.mostBytes + 1), for: key(9), at: start)
    #expect(bodies.count == 3)
    bodies.add(try partial(PartialBodies.mostBytes), for: key(9), at: start)
    #expect(bodies.count == 1 && bodies.bytes == PartialBodies.mostBytes)
    bodies.removeAll()
    #expect(bodies.count == 0 && bodies.bytes == 0)
  }

  @Test("do not wait for ever")
  func age() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(1), for: key(1), at: start)
    bodies.add(try partial(1), for: key(2), at: start)
    let edge = start + PartialBodies.longestWait
    #expect(bodies.take(key(1), at: edge) != nil)
    #expect(bodies.take(key(2), at: edge + .nanoseconds(1)) == nil)
    bodies.add(try partial(1), for: key(1), at: start)
    bodies.add(try partial(1), for: key(2), at: edge + .seconds(1))
    #expect(bodies.count == 1)
  }

  @Test("are none that must not be stored")
  func secret() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(1, also: "Cache-Control: no-store"), for: key(1), at: start)
    #expect(bodies.count == 0)
  }
}
