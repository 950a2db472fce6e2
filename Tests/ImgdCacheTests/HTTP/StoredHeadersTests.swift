import Testing

@testable import ImgdCache

struct StoredHeadersTests {
  private func roundTrips(_ list: HeaderList) -> Bool {
    isSame(StoredHeaders(list).list, list)
  }

  private func isSame(_ left: HeaderList, _ right: HeaderList) -> Bool {
    left.map(\.name) == right.map(\.name) && left.map(\.value) == right.map(\.value)
  }

  @Test func `stored headers are read back unchanged, whatever they contain`() {
    #expect(roundTrips([]))
    #expect(roundTrips([("etag", "\"x\""), ("set-cookie", "a=b"), ("set-cookie", "c=d")]))
    #expect(roundTrips([("", ""), ("a", ""), ("", "b"), ("x", "line\nline:\0ä")]))
    for count in [254, 255, 256, 70_000] {
      let long = String(repeating: "v", count: count)
      #expect(roundTrips([("long", long), ("etag", long), (long, "x"), ("date", "")]))
    }
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 29 Feb 2024 12:00:00 GMT",
    // Dates in another form, wrong ones, and others that are as long.
    "sun, 06 Nov 1994 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT",
    "Wed, 31 Dec 1969 23:59:59 GMT", "Fri, 30 Feb 2024 12:00:00 GMT",
    "Thu, 29 Feb 2024 12:00:60 GMT", "0123456789012345678901234567ä",
  ])
  func `a date is read back to the byte`(date: String) {
    #expect(roundTrips([("date", date), ("x-date", date), ("server", "nginx")]))
  }

  @Test func `usual fields take little room`() {
    let list: HeaderList = [
      ("server", "nginx"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("content-length", "1000"),
      ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"), ("etag", "\"5f-3e8\""),
      ("content-type", "image/png"), ("accept-ranges", "bytes"),
    ]
    #expect(StoredResponse(status: 200, headers: list).headers.kept.count < 64)
  }

  typealias Fields = [(name: String, value: String)]

  @Test(
    arguments: [
      ([("a", "1")], [], [("a", "1")]),
      ([], [("a", "1")], [("a", "1")]),
      ([("a", "1"), ("b", "1")], [("a", "2")], [("b", "1"), ("a", "2")]),
      ([("a", "1"), ("a", "2")], [("a", "3")], [("a", "3")]),
      ([("a", "1")], [("a", "2"), ("a", "3")], [("a", "2"), ("a", "3")]),
      // Headers about the bytes stay.
      ([("content-length", "9")], [("content-length", "0")], [("content-length", "9")]),
      ([("content-encoding", "br")], [("content-encoding", "gzip")], [("content-encoding", "br")]),
      (
        [("content-type", "image/png")], [("content-type", "text/html")],
        [("content-type", "image/png")]
      ),
      ([], [("content-range", "bytes 0-1/2")], []),
      // Other names that begin so are replaced.
      ([("content-language", "de")], [("content-language", "fr")], [("content-language", "fr")]),
      ([("content-location", "/a")], [("content-location", "/b")], [("content-location", "/b")]),
      // Headers about the old message are removed.
      ([("age", "90"), ("etag", "1")], [], [("etag", "1")]),
      ([("age", "90")], [("age", "3")], [("age", "3")]),
      ([("date", "then")], [("date", "now")], [("date", "now")]),
      ([("date", "then")], [("a", "1")], [("a", "1")]),
      // Headers about the connection are not taken over.
      ([("a", "1")], [("connection", "a"), ("a", "2"), ("keep-alive", "5")], [("a", "1")]),
      (
        [("x", "1")], [("transfer-encoding", "chunked"), ("proxy-authenticate", "b")], [("x", "1")]
      ),
      // A strong validator has to be the stored one.
      (
        [("etag", "\"1\""), ("a", "1")], [("etag", "\"2\""), ("a", "2")],
        [("etag", "\"1\""), ("a", "1")]
      ),
      (
        [("etag", "\"1\""), ("a", "1")], [("etag", "\"1\""), ("a", "2")],
        [("etag", "\"1\""), ("a", "2")]
      ),
      (
        [("etag", "W/\"1\""), ("a", "1")], [("etag", "W/\"2\""), ("a", "2")],
        [("etag", "W/\"1\""), ("a", "1")]
      ),
      ([("a", "1")], [("etag", "\"2\""), ("a", "2")], [("a", "1")]),
      (
        [("last-modified", "x"), ("a", "1")],
        [("etag", "\"2\""), ("last-modified", "x"), ("a", "2")],
        [("etag", "\"2\""), ("last-modified", "x"), ("a", "2")]
      ),
    ] as [(Fields, Fields, Fields)])
  func `a confirmation changes the headers that it may change (3.2, 4.3.4)`(
    old: Fields, fresh: Fields, expected: Fields
  ) {
    #expect(isSame(StoredHeaders(old).confirmed(with: fresh), expected))
  }

  @Test(
    arguments: [
      (nil, nil, true), (nil, "\"1\"", false), ("\"1\"", nil, true), ("\"1\"", "\"1\"", true),
      ("\"1\"", "\"2\"", false), ("\"1\"", "W/\"2\"", false), ("W/\"1\"", "W/\"2\"", false),
      ("W/\"1\"", "\"1\"", false), ("\"1\"", "W/\"1\"", true), ("W/\"1\"", "W/\"1\"", true),
      (nil, "W/\"1\"", false),
    ] as [(String?, String?, Bool)])
  func `a confirmation is matched by its validator (4.3.4)`(
    own: String?, tag: String?, isConfirmed: Bool
  ) {
    func fields(_ tag: String?) -> HeaderList { tag.map { [("etag", $0)] } ?? [] }
    #expect(StoredHeaders(fields(own)).areConfirmed(by: fields(tag)) == isConfirmed)
  }

  /// The tag and the date of what is stored, those of the confirmation, and whether it is one.
  @Test(
    arguments: [
      (nil, "x", nil, nil, true), (nil, "x", nil, "x", true), (nil, "x", nil, "y", false),
      (nil, nil, nil, "x", false), (nil, "x", "\"1\"", "x", true), (nil, "x", "\"1\"", "y", false),
      (nil, "x", "\"1\"", nil, false), (nil, "x", "W/\"1\"", "x", true),
      (nil, "x", "W/\"1\"", nil, false),
      ("\"1\"", "x", "\"1\"", "y", true), ("\"1\"", "x", "\"2\"", "x", false),
      ("\"1\"", "x", nil, "y", true), ("\"1\"", "x", nil, "x", true),
    ] as [(String?, String?, String?, String?, Bool)])
  func `the date of the last change decides where the tags do not (4.3.4)`(
    ownTag: String?, ownDate: String?, tag: String?, date: String?, isConfirmed: Bool
  ) {
    func fields(_ tag: String?, _ date: String?) -> HeaderList {
      (tag.map { [("etag", $0)] } ?? []) + (date.map { [("last-modified", $0)] } ?? [])
    }
    let stored = StoredHeaders(fields(ownTag, ownDate))
    #expect(stored.areConfirmed(by: fields(tag, date)) == isConfirmed)
  }

  @Test func `a confirmation starts a new lifetime`() {
    let old = StoredHeaders([
      ("cache-control", "max-age=60"), ("age", "50"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ])
    let confirmed = old.confirmed(with: [("cache-control", "max-age=30")])
    let answer = Freshness(status: 200, headers: confirmed, receivedAt: 784_200_000)
    #expect(answer.remaining == .seconds(30))
  }

  @Test(
    arguments: [
      ([("etag", "1")], [("etag", "1")]),
      ([("connection", "close"), ("etag", "1")], [("etag", "1")]),
      ([("x-hop", "1"), ("connection", "Close , X-Hop"), ("etag", "1")], [("etag", "1")]),
      (
        [("connection", "a"), ("connection", "b,,"), ("a", "1"), ("b", "1"), ("c", "1")],
        [("c", "1")]
      ),
      ([("connection", "\"a"), ("a", "1")], [("a", "1")]),
      ([("connection", "\"x, A"), ("a", "1"), ("x", "1")], [("x", "1")]),
      ([("connection", "x=\"a, b\""), ("a", "1"), ("b", "1")], [("a", "1"), ("b", "1")]),
      ([("connection", ""), ("", "1"), ("a", "1")], [("a", "1")]),
      ([("connection", "x y"), ("x", "1")], [("x", "1")]),
      (
        [("keep-alive", "timeout=5"), ("proxy-connection", "x"), ("transfer-encoding", "x")], []
      ),
      ([("proxy-authenticate", "x"), ("proxy-authorization", "x"), ("via", "x")], [("via", "x")]),
      (
        [("set-cookie", "a=1"), ("etag", "1"), ("set-cookie2", "b"), ("authentication-info", "x")],
        [("etag", "1")]
      ),
      ([("proxy-authentication-info", "x"), ("te", "x"), ("trailer", "x"), ("upgrade", "x")], []),
    ] as [(Fields, Fields)])
  func `headers of the connection are not stored (3.1)`(message: Fields, expected: Fields) {
    #expect(isSame(StoredHeaders.storable(message), expected))
  }

  @Test func `headers that are needed later have room first, then the others in their order`() {
    let long = String(repeating: "x", count: 100)
    let list: Fields = [
      ("x-a", long), ("etag", "1"), ("x-b", ""), ("x-c", long), ("vary", "accept"),
    ]
    #expect(isSame(StoredHeaders.fitting(list, within: 1_000), list))
    #expect(
      isSame(
        StoredHeaders.fitting(list, within: 160),
        [("x-a", long), ("etag", "1"), ("x-b", ""), ("vary", "accept")]))
    #expect(
      isSame(
        StoredHeaders.fitting(list, within: 50), [("etag", "1"), ("x-b", ""), ("vary", "accept")]))
    #expect(StoredHeaders.fitting(list, within: 0).isEmpty)
  }

  @Test func `an answer whose needed headers have no room is not stored`() {
    let list: Fields = [("etag", String(repeating: "x", count: StoredHeaders.mostKept))]
    #expect(Freshness(status: 200, headers: list, receivedAt: 0).refusal == .noStore)
    let other: Fields = [("x-etag", list[0].value)]
    #expect(Freshness(status: 200, headers: other, receivedAt: 0).refusal == nil)
  }
}
