import ImgdSystem
import Testing

@testable import ImgdTransfer

struct PartialBodyTests {
  private static let sound = ["ETag: \"1\"", "Accept-Ranges: bytes", "Content-Length: 1000"]

  @Test(arguments: [201, 203, 204, 206, 304, 404, 500])
  func `a partial body comes only from a 200`(status: Int) {
    #expect(PartialBody(of: .collected(200, Self.sound), total: 1_000) != nil)
    #expect(PartialBody(of: .collected(status, Self.sound), total: 1_000) == nil)
  }

  @Test(arguments: [
    (["Accept-Ranges: bytes"], true), (["accept-ranges: BYTES"], true),
    (["Accept-Ranges: lines , bytes"], true),
    (["Accept-Ranges: a", "Accept-Ranges: bytes"], true),
    ([], false), (["Accept-Ranges: none"], false), (["Accept-Ranges:"], false),
    (["Accept-Ranges: kilobytes"], false),
  ])
  func `a partial body comes from an origin that supports ranges`(fields: [String], isKept: Bool) {
    let head = HeadCollector.collected(200, fields + ["ETag: \"1\""])
    #expect((PartialBody(of: head, total: nil) != nil) == isKept)
  }

  @Test func `a partial body has plain bytes and a strong validator`() {
    let packed = Self.sound + ["Content-Encoding: gzip"]
    #expect(PartialBody(of: .collected(200, packed), total: 1_000) == nil)
    let weak = ["ETag: W/\"1\"", "Accept-Ranges: bytes"]
    #expect(PartialBody(of: .collected(200, weak), total: 1_000) == nil)
  }

  @Test(arguments: [
    ([], true), (["Cache-Control: max-age=5"], true), (["Cache-Control: no-cache"], true),
    (["Cache-Control: no-store"], false), (["Cache-Control: max-age=5, No-Store"], false),
    (["Cache-Control: a", "Cache-Control: private"], false),
    (["Cache-Control: private=\"set-cookie\""], false),
  ])
  func `a partial body is kept for another transfer unless it must not be stored`(
    fields: [String], mayBeStored: Bool
  ) throws {
    let partial = try #require(PartialBody(of: .collected(200, Self.sound + fields), total: 1_000))
    #expect(partial.mayBeStored == mayBeStored)
  }

  @Test(
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
  func `a partial body accepts only the range that continues it`(
    fields: [String], length: Int?, fits: Bool
  ) throws {
    let partial = try partial(of: 600, total: 1_000)
    let range = partial.range(addedBy: .collected(206, fields + ["ETag: \"1\""]), length: length)
    #expect((range != nil) == fits)
    let other = HeadCollector.collected(206, fields + ["ETag: \"2\""])
    #expect(partial.range(addedBy: other, length: length) == nil)
  }

  @Test func `a partial body of unknown length gets it from the rest`() throws {
    let partial = try partial(of: 600, total: nil)
    let fields = ["ETag: \"1\"", "Content-Range: bytes 600-700/701"]
    #expect(partial.range(addedBy: .collected(206, fields), length: nil)?.total == 701)
  }

  @Test func `a partial body requests the rest of the same version`() throws {
    let fields = try partial(of: 600, total: 1_000).headers
    #expect(fields == [HeaderField("Range", "bytes=600-"), HeaderField("If-Range", "\"1\"")])
  }

  @Test func `a continued body has a head joined from its parts`() {
    let start = HeadCollector.collected(
      200,
      [
        "ETag: \"1\"", "X-Old: 1", "Set-Cookie: a", "Transfer-Encoding: chunked", "Date: then",
      ])
    let rest = HeadCollector.collected(
      206,
      ["ETag: \"1\"", "Date: now", "Content-Length: 4", "Content-Range: bytes 6-9/10", "X-New: 2"])
    let whole = rest.continuing(start, total: 10).head
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
