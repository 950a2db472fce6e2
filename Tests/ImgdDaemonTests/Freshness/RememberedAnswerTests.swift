import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

/// Answers that are no pictures are kept like pictures.
struct RememberedAnswerTests {
  private static func control(_ value: String) -> [(String, String)] { [("Cache-Control", value)] }

  /// A status, and whether it is remembered without a word about it, and with an explicit lifetime.
  static let statuses: [(status: Int, isByDefault: Bool)] =
    [204, 300, 404, 405, 410, 414, 501].map { ($0, true) }
    + [400, 401, 403, 418, 429, 451, 499, 500, 502, 503, 504, 599].map { ($0, false) }

  @Test(arguments: statuses)
  func `every status is remembered as HTTP has it`(status: Int, isByDefault: Bool) throws {
    let stage = try CoreStage("Downloads.Retries=0")
    stage.origin.plan("/silent", .status(status))
    stage.origin.plan("/named", .status(status, headers: Self.control("max-age=100")))
    stage.origin.plan("/forbidden", .status(status, headers: Self.control("no-store, max-age=100")))
    for (path, count) in [("/silent", isByDefault ? 1 : 2), ("/named", 1), ("/forbidden", 2)] {
      let first = try stage.ask(path)
      let second = try stage.ask(path)
      #expect(stage.origin.count(path) == count, "\(path)")
      let details = second["error"]?["details"]
      #expect(details?["status"]?.integer == Int64(status))
      #expect(details?["cached"] == (count == 1 ? .bool(true) : nil))
      #expect(first["error"]?["message"] == second["error"]?["message"])
      #expect(first["error"]?["retryable"] == second["error"]?["retryable"])
    }
  }

  @Test func `a remembered answer tells its age, and goes with its lifetime`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a", .status(403, headers: Self.control("max-age=100") + [("Age", "10")]))
    try stage.ask("/a")
    stage.jump(.seconds(89))
    let line = try stage.ask("/a")
    #expect(line["error"]?["details"]?["age"]?.integer == 99)
    stage.jump(.seconds(1))
    #expect(try stage.ask("/a")["error"]?["details"]?["cached"] == nil)
    #expect(stage.origin.count("/a") == 2)
  }

  // MARK: Redirects

  @Test(
    arguments: [
      (301, [], 1), (308, [], 1), (302, [], 2), (303, [], 2), (307, [], 2),
      (301, control("no-store"), 2), (301, control("private"), 2), (301, control("max-age=0"), 2),
      (302, control("max-age=9"), 1), (303, control("max-age=9"), 1),
      (307, control("s-maxage=9"), 1),
    ] as [(Int, [(String, String)], Int)])
  func `a redirect is remembered as HTTP has it`(
    status: Int, headers: [(String, String)], count: Int
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b", status: status, headers: headers))
    stage.origin.plan("/b", .picture(png(), headers: Self.control("max-age=100")))
    try stage.ask("/a")
    let line = try stage.ask("/a")
    #expect(line.outcome == "memory")
    #expect(line["final_url"]?.string == stage.base + "/b")
    #expect(stage.origin.count("/a") == count)
    #expect(stage.origin.count("/b") == 1)
  }

  @Test func `a chain is followed from the cache`() throws {
    let stage = try CoreStage()
    for (from, to) in [("/1", "/2"), ("/2", "/3"), ("/3", "/4")] {
      stage.origin.plan(from, .redirect(to: to, status: 308))
    }
    stage.origin.plan("/4", .picture(png()))
    try stage.ask("/1")
    for mode in ["default", "force-cache", "only-if-cached"] {
      let line = try stage.ask("/1", #""cache":"\#(mode)""#)
      #expect(line.outcome == "memory")
      #expect(line["final_url"]?.string == stage.base + "/4")
    }
    #expect(stage.origin.requests.count == 4)
  }

  @Test func `a circle that is remembered ends at the limit`() throws {
    let stage = try CoreStage("Downloads.MaxRedirects=3")
    stage.origin.plan("/a", .redirect(to: "/b", status: 301))
    stage.origin.plan("/b", .redirect(to: "/a", status: 301))
    for _ in 0..<2 { #expect(try stage.outcome("/a") == "too_many_redirects") }
    #expect(stage.origin.requests.count == 2)
  }

  @Test func `a lifetime that a request sets is for the way to the picture, too`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b"))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a", #""ttl":100"#)
    #expect(try stage.outcome("/a") == "memory")
    #expect(stage.origin.requests.count == 2)
  }

  @Test func `what a public address has redirected leads to public ones from the cache, too`()
    throws
  {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/b"), status: 301))
    stage.origin.plan("/b", .picture(png(), headers: Self.control("max-age=0")))
    let request = #"{"cmd":"fetch","url":"\#(stage.origin.url("/a", host: "public.org"))"}"#
    for _ in 0..<2 { _ = try stage.client.ask(request) }
    #expect(stage.origin.orders.map(\.isAfterPublic) == [false, true, true])
  }

  // MARK: Stale ones

  @Test func `a stale failure is confirmed where it can be`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional([], tag: "\"1\"", status: 404, headers: Self.control("max-age=10")))
    try stage.ask("/a")
    stage.jump(.seconds(11))
    let line = try stage.ask("/a")
    #expect(line.outcome == "http_status cached")
    #expect(line["error"]?["details"]?["age"]?.integer == 0)
    #expect(stage.origin.requests("/a").map { $0.header("if-none-match") } == [nil, "\"1\""])
    #expect(try stage.outcome("/a") == "http_status cached")
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a stale redirect is confirmed where it can be`() throws {
    let stage = try CoreStage()
    let headers = Self.control("max-age=10") + [("Location", "/b")]
    stage.origin.plan("/a", .conditional([], tag: "\"1\"", status: 302, headers: headers))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a")
    stage.jump(.seconds(11))
    for _ in 0..<2 { #expect(try stage.outcome("/a") == "memory") }
    #expect(stage.origin.count("/a") == 2)
    #expect(stage.origin.count("/b") == 1)
  }

  @Test func `a stale answer is shown while it is fetched anew, once for all`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    let answer = OriginAnswer.status(
      403, headers: Self.control("max-age=10, stale-while-revalidate=100"))
    stage.origin.plan("/a", answer, .held(at: gate, then: .picture(png())))
    try stage.ask("/a")
    stage.jump(.seconds(11))
    for _ in 0..<3 {
      let details = try stage.ask("/a")["error"]?["details"]
      #expect(details?["stale"] == .bool(true) && details?["cached"] == .bool(true))
    }
    gate.open()
    stage.settle()
    #expect(try stage.outcome("/a") == "memory")
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a stale redirect stands in for an origin that fails`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .redirect(to: "/b", status: 301, headers: Self.control("max-age=1, stale-if-error=100")),
      .fails(.connect))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a")
    stage.jump(.seconds(2))
    for _ in 0..<2 { #expect(try stage.outcome("/a") == "memory") }
    stage.jump(.seconds(100))
    #expect(try stage.outcome("/a") == "connect")
  }

  @Test(
    arguments: [
      ("max-age=1, stale-if-error=100", "", []), ("max-age=0, stale-if-error=100", "", []),
      ("max-age=1, stale-if-error=100", "", control("max-age=50")),
      ("max-age=1", "HTTP.StaleIfError=1h", []),
    ] as [(String, String, [(String, String)])])
  func `a stale answer stands in for an origin in trouble, each time`(
    first: String, setting: String, second: [(String, String)]
  ) throws {
    let stage = try CoreStage(["Downloads.Retries=0", setting].filter { !$0.isEmpty })
    stage.origin.plan(
      "/a", .status(404, headers: Self.control(first)), .status(503, headers: second))
    try stage.ask("/a")
    stage.jump(.seconds(2))
    for _ in 0..<3 {
      let details = try stage.ask("/a")["error"]?["details"]
      #expect(details?["status"]?.integer == 404 && details?["stale"] == .bool(true))
    }
  }

  @Test(arguments: [503, 500, 403])
  func `an answer that is not kept leaves the one that is`(status: Int) throws {
    let stage = try CoreStage("Downloads.Retries=0")
    stage.origin.plan("/a", .redirect(to: "/b", status: 301), .status(status))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a")
    #expect(try stage.outcome("/a", #""cache":"reload""#) == "http_status")
    #expect(try stage.outcome("/a") == "memory")
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a redirect of any age serves those who take it`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b", status: 301, headers: Self.control("max-age=0")))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a")
    for mode in ["force-cache", "only-if-cached"] {
      #expect(try stage.outcome("/a", #""cache":"\#(mode)""#) == "memory")
    }
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `a confirmation with another target is asked for anew`() throws {
    let stage = try CoreStage()
    let moved = [("ETag", "\"1\""), ("Location", "/c")]
    stage.origin.plan(
      "/a",
      .redirect(to: "/b", status: 301, headers: Self.control("max-age=1") + [("ETag", "\"1\"")]),
      .raw("HTTP/1.1 304 x\r\nETag: \"1\"\r\nLocation: /c\r\n\r\n"),
      .status(301, headers: moved))
    for path in ["/b", "/c"] { stage.origin.plan(path, .picture(png())) }
    try stage.ask("/a")
    stage.jump(.seconds(2))
    #expect(try stage.ask("/a")["final_url"]?.string == stage.base + "/c")
    #expect(stage.origin.requests("/a").map { $0.header("if-none-match") } == [nil, "\"1\"", nil])
  }

  @Test func `a long target is kept whole`() throws {
    let stage = try CoreStage()
    let long = "/b?" + String(repeating: "s", count: 4_000)
    stage.origin.plan("/a", .redirect(to: long, status: 301))
    stage.origin.plan(long, .picture(png()))
    for _ in 0..<2 {
      #expect(try stage.ask("/a")["final_url"]?.string == stage.base + long)
    }
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `a picture in another form tells where it came from`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b", status: 301))
    stage.origin.plan("/b", .picture(png()))
    for _ in 0..<2 {
      let line = try stage.ask("/a", #""resize":{"width":2}"#)
      #expect(line["final_url"]?.string == stage.base + "/b")
    }
  }

  @Test func `no-cache is confirmed before each use, and useless without a validator`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional([], tag: "\"1\"", status: 410, headers: Self.control("no-cache")))
    stage.origin.plan("/b", .status(410, headers: Self.control("no-cache")))
    for path in ["/a", "/b"] { for _ in 0..<2 { try stage.ask(path) } }
    #expect(stage.origin.requests("/a").map { $0.header("if-none-match") } == [nil, "\"1\""])
    #expect(try stage.stats("failures", "entries") == 1)
  }

  @Test func `a soft purge has an answer confirmed`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional([], tag: "\"1\"", status: 404, headers: Self.control("max-age=1000")))
    try stage.ask("/a")
    _ = try stage.client.ask(#"{"cmd":"purge","url":"\#(stage.base)/a","soft":true}"#)
    try stage.ask("/a")
    #expect(stage.origin.requests("/a").map { $0.header("if-none-match") } == [nil, "\"1\""])
    try stage.ask("/a")
    #expect(stage.origin.count("/a") == 2)
  }

  // MARK: Pictures and answers

  @Test(arguments: [301, 403, 404, 410])
  func `a newer answer takes the place of a picture`(status: Int) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .picture(png(), headers: Self.control("max-age=1000")),
      .redirect(to: "/b", status: status, headers: Self.control("max-age=1000")))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a")
    let answer = try stage.outcome("/a", #""cache":"reload""#)
    #expect(try stage.tier(of: "/a") == "none")
    #expect(try stage.outcome("/a") == (status == 301 ? "memory" : answer + " cached"))
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a picture stays beside the trouble of its origin`() throws {
    let stage = try CoreStage("Downloads.Retries=0")
    stage.origin.plan(
      "/a", .picture(png(), headers: Self.control("max-age=10, stale-if-error=100")),
      .status(503, headers: Self.control("max-age=50")))
    try stage.ask("/a")
    #expect(try stage.outcome("/a", #""cache":"reload""#) == "http_status")
    #expect(try stage.outcome("/a") == "memory")
    stage.jump(.seconds(11))
    for _ in 0..<3 { #expect(try stage.outcome("/a") == "memory stale") }
    #expect(stage.origin.count("/a") == 3)
  }

  @Test func `a picture takes the place of an answer`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .redirect(to: "/b", status: 301), .picture(png(), headers: Self.control("max-age=0")))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a")
    #expect(try stage.outcome("/a", #""cache":"reload""#) == "network")
    #expect(try stage.stats("failures", "entries") == 0)
    #expect(try stage.ask("/a")["final_url"] == nil)
  }

  @Test func `an answer to a condition of the client's own is nobody else's`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(412, headers: Self.control("max-age=100")), .picture(png()))
    #expect(try stage.outcome("/a", #""headers":{"If-Match":"\"1\""}"#) == "http_status")
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `answers to requests with header fields are theirs`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404, headers: Self.control("max-age=100")))
    let (mine, others) = (#""headers":{"X-Foo":"1"}"#, #""headers":{"X-Foo":"2"}"#)
    #expect(try stage.outcome("/a", mine) == "http_status")
    #expect(try stage.outcome("/a", mine) == "http_status cached")
    #expect(try stage.outcome("/a", others) == "http_status")
    #expect(try stage.outcome("/a") == "http_status")
  }

  @Test func `answers to credentials are their user's`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(403, headers: Self.control("private, max-age=100")))
    let mine = #""headers":{"Authorization":"1"}"#
    #expect(try stage.outcome("/a", mine) == "http_status")
    #expect(try stage.outcome("/a", mine) == "http_status cached")
    #expect(try stage.outcome("/a", mine, on: try stage.connect(as: 4_242)) == "http_status")
    #expect(try stage.outcome("/a") == "http_status")
  }

  // MARK: Answers that depend on the request

  @Test func `an answer with Vary serves all whom it fits, in any spelling`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .status(404, headers: Self.control("max-age=100") + [("Vary", "Accept")]))
    stage.origin.plan(
      "/b", .redirect(to: "/a", status: 301, headers: [("Vary", "Accept-Encoding")]))
    for path in ["/a", "/b"] {
      for accept in ["image/a, image/b;q=0.5", "image/B;q=0.50,image/a"] {
        try stage.ask(path, #""headers":{"Accept":"\#(accept)"}"#)
      }
    }
    #expect(stage.origin.requests.map(\.path) == ["/a", "/b"])
    #expect(try stage.outcome("/a", #""headers":{"Accept":"image/c"}"#) == "http_status")
  }

  @Test func `eight of them are kept to one name`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .status(404, headers: Self.control("max-age=100") + [("Vary", "Accept")]))
    for number in 0..<20 { try stage.ask("/a", #""headers":{"Accept":"image/\#(number)"}"#) }
    #expect(try stage.stats("failures", "entries") == 8)
    #expect(
      try stage.outcome("/a", #""headers":{"Accept":"image/19"}"#) == "http_status cached")
  }

  // MARK: A restart

  @Test func `a restart forgets them`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b", status: 302, headers: Self.control("max-age=100")))
    stage.origin.plan("/b", .status(403, headers: Self.control("max-age=100")))
    try stage.ask("/a")
    #expect(try stage.stats("failures", "entries") == 2)
    try stage.restart()
    stage.settle()
    #expect(try stage.stats("failures", "entries") == 0)
    #expect(try stage.outcome("/a") == "http_status")
    #expect(stage.origin.count("/b") == 2)
  }

  // MARK: Purges

  @Test(arguments: [
    #""url":"ORIGIN/a""#, #""prefix":"ORIGIN/""#, #""host":"127.0.0.1""#, #""tag":"t""#,
    #""tier":"all""#,
  ])
  func `what is purged is asked for again`(filter: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404, headers: Self.control("max-age=100")), .picture(png()))
    try stage.ask("/a", #""tags":["t"]"#)
    try stage.play(
      #"""
      > {"cmd":"purge",\#(filter)}
      < {"ok":true}
      """#)
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `a purge counts what it removes`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404))
    try stage.ask("/a")
    let line = try stage.client.ask(#"{"cmd":"purge","url":"\#(stage.base)/a"}"#)
    #expect(line["removed"] == .bool(true), "\(line.text)")
  }

  // MARK: Bounds

  @Test func `what all answers hold is bounded, and counted`() throws {
    let stage = try CoreStage("Memory.Capacity=100k", "Disk.Enabled=no")
    let long = String(repeating: "x", count: 1_500)
    for number in 0..<100 {
      stage.origin.plan("/\(number)", .status(404, headers: [("X-Long", long)]))
      try stage.ask("/\(number)")
    }
    let bytes = try stage.stats("failures", "bytes")
    #expect((50_000...102_400).contains(bytes))
    #expect(try stage.stats("held", "failures") == bytes)
    #expect(try stage.stats("failures", "capacity") == 102_400)
    // The oldest ones have gone.
    #expect(try stage.outcome("/99") == "http_status cached")
    #expect(try stage.outcome("/0") == "http_status")
    _ = try stage.client.ask(#"{"cmd":"purge"}"#)
    #expect(try stage.stats("failures", "bytes") == 0)
  }

  @Test func `fields beyond a bound are not kept`() throws {
    let stage = try CoreStage()
    let fields = (0..<10).map { ("X-\($0)", String(repeating: "x", count: 300)) }
    stage.origin.plan("/a", .status(404, headers: fields + [("ETag", "\"1\"")]))
    try stage.ask("/a", #""http":true"#)
    let line = try stage.ask("/a", #""http":true"#)
    #expect(line.outcome == "http_status cached")
    #expect(line.header("etag") == "\"1\"" && line.header("x-9") == nil)
  }

  @Test func `a capacity that becomes less is kept to`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    for number in 0..<600 { try stage.ask("/\(number)") }
    #expect(try stage.stats("failures", "entries") == 600)
    try stage.apply("Memory.Capacity=50k")
    stage.settle()
    #expect(try stage.stats("failures", "bytes") <= 51_200)
    #expect(try stage.stats("failures", "entries") > 10)
  }
}
