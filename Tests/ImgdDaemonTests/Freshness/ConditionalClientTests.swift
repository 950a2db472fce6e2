import ImgdTestSupport
import ImgdWire
import Testing

/// Clients that ask under a condition, because they have the picture in some version.
struct ConditionalClientTests {
  private static let one = "11111111-1111-4111-8111-111111111111"
  private static let date = "Tue, 01 Jul 2025 10:00:00 GMT"
  private static let fresh = [
    ("Cache-Control", "max-age=1000"), ("Last-Modified", date), ("X-Else", "1"),
    ("Set-Cookie", "a=b"),
  ]
  private static let stale = [("Cache-Control", "max-age=0")]
  private static let mine = #""headers":{"If-None-Match":"\"1\""}"#

  private func stage(_ headers: [(String, String)] = Self.fresh) throws -> CoreStage {
    let stage = try CoreStage()
    stage.origin.plan("/a", .conditional(png(), tag: "\"1\"", headers: headers))
    try stage.fetch("/a")
    return stage
  }

  // MARK: Fresh

  static let satisfied = [
    #""If-None-Match":"\"1\"""#, #""if-none-match":"W/\"1\"""#, #""If-None-Match":"\"0\", \"1\"""#,
    #""If-None-Match":"*""#, #""If-Modified-Since":"\#(date)""#,
    #""If-None-Match":"\"1\"","If-Modified-Since":"Tue, 01 Jul 2025 09:00:00 GMT""#,
    #""If-None-Match":"\"1\"","If-Match":"\"9\"""#, #""If-None-Match":"\"1\"","DNT":"1""#,
  ]

  @Test(arguments: satisfied, HitTier.allCases)
  func `a fresh picture that the client has is answered with a word`(
    headers: String, tier: HitTier
  ) throws {
    let stage = try stage()
    try stage.leave(in: tier)
    for delivery in ["path", "inline", "fd", "pixels", "none"] {
      let line = try stage.ask("/a", #""headers":{\#(headers)},"deliver":"\#(delivery)""#)
      #expect(line["ok"] == .bool(true) && line["not_modified"] == .bool(true))
      #expect(line.outcome == tier.rawValue || delivery != "path")
      #expect(line["http"]?["status"]?.integer == 304)
      #expect(line.header("etag") == "\"1\"" && line.header("cache-control") == "max-age=1000")
      #expect(line.header("x-else") == nil && line.header("set-cookie") == nil)
      #expect(line["url"]?.string == stage.base + "/a" && line["receipt"]?.string != nil)
      #expect(line["age"]?.integer == 0 && line["fresh_for"]?.integer ?? 0 > 900)
      #expect(line["coalesced"] == .bool(false))
      for absent in ["path", "data", "fds", "deliver_note", "format", "width", "bytes", "stale"] {
        #expect(line[absent] == nil, "\(absent)")
      }
    }
    #expect(stage.client.takeDescriptor() == nil)
    #expect(stage.origin.count("/a") == 1)
  }

  static let unsatisfied = [
    #""If-None-Match":"\"2\"""#, #""If-None-Match":"1""#,
    #""If-Modified-Since":"Tue, 01 Jul 2025 09:59:59 GMT""#, #""If-Modified-Since":"then""#,
    #""If-None-Match":"\"2\"","If-Modified-Since":"\#(date)""#, #""If-Match":"\"1\"""#,
    #""If-Unmodified-Since":"\#(date)""#,
  ]

  @Test(arguments: unsatisfied, HitTier.allCases)
  func `a fresh picture that the client does not have is shown`(
    headers: String, tier: HitTier
  ) throws {
    let stage = try stage()
    try stage.leave(in: tier)
    let line = try stage.ask("/a", #""headers":{\#(headers)},"http":true"#)
    #expect(line.outcome == tier.rawValue && line["path"]?.string != nil)
    #expect(line["not_modified"] == nil && line["http"]?["status"]?.integer == 200)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `neither a decoder nor a file is needed for the word`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a", .conditional(png(), tag: "\"1\"", headers: Self.fresh))
    try stage.fetch("/a")
    for form in [#""resize":{"width":2}"#, #""describe":true"#, #""format":"webp""#] {
      let line = try stage.ask("/a", "\(Self.mine),\(form),\"events\":true,\"progress\":true")
      #expect(line["not_modified"] == .bool(true), "\(line.text)")
    }
    #expect(stage.decoding.orders.isEmpty)
  }

  @Test func `what was made of a picture does not stand for it`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.fresh),
      .conditional(png(), tag: "\"2\"", headers: Self.fresh))
    try stage.ask("/a", #""resize":{"width":2}"#)
    // The same bytes under another tag.
    #expect(try stage.outcome("/a", #""cache":"reload""#) == "network")
    let resized = #","resize":{"width":2}"#
    #expect(try stage.ask("/a", Self.mine + resized)["not_modified"] == nil)
    let second = #""headers":{"If-None-Match":"\"2\""}"#
    #expect(try stage.ask("/a", second + resized)["not_modified"] == .bool(true))
  }

  @Test func `the limit of a request is about the picture, not about the word`() throws {
    let stage = try stage()
    #expect(try stage.ask("/a", Self.mine + #","max_bytes":10"#)["not_modified"] == .bool(true))
    #expect(try stage.outcome("/a", #""max_bytes":10"#) == "too_large")
  }

  @Test func `an outcome that is collected is the same word, with its age by then`() throws {
    let stage = try stage()
    try stage.play(
      #"""
      > {"cmd":"subscribe","events":["jobs"]}
      < {"ok":true}
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)",\#(Self.mine)}
      < {"id":1,"ok":true,"state":"done"}
      < {"event":"job","receipt":"\#(Self.one)","state":"done"}
      """#)
    stage.jump(.seconds(7))
    for delivery in ["path", "inline", "fd", "pixels", "none"] {
      let wait = #"{"cmd":"wait","receipt":"\#(Self.one)","deliver":"\#(delivery)"}"#
      let line = try stage.client.ask(wait)
      #expect(line["not_modified"] == .bool(true) && line["http"]?["status"]?.integer == 304)
      #expect(line["age"]?.integer == 7 && line["fresh_for"]?.integer ?? 0 < 994)
      #expect(line["path"] == nil && line["fds"] == nil && line["data"] == nil)
    }
  }

  @Test func `a word counts as a hit`() throws {
    let stage = try stage()
    let hits = try stage.stats("memory", "hits")
    try stage.ask("/a", Self.mine)
    #expect(try stage.stats("memory", "hits") == hits + 1)
  }

  @Test func `the identifier and the credentials of a client still part`() throws {
    let stage = try stage()
    for more in [#""identifier":"x""#, #""tags":["t"]"#] {
      let line = try stage.ask("/a", "\(Self.mine),\(more)")
      #expect((line["not_modified"] != nil) == more.contains("tags"))
    }
    let secret = #""headers":{"If-None-Match":"\"1\"","Authorization":"x"}"#
    #expect(try stage.ask("/a", secret)["not_modified"] == nil)
  }

  // MARK: Not fresh

  @Test(arguments: ["reload", "no-cache", "no-store"])
  func `a mode that asks the origin lets the origin judge`(mode: String) throws {
    let stage = try stage()
    let line = try stage.ask("/a", #"\#(Self.mine),"cache":"\#(mode)""#)
    #expect(line.failureCode == "http_status")
    #expect(line["error"]?["details"]?["status"]?.integer == 304)
    #expect(stage.origin.requests("/a").last?.header("if-none-match") == "\"1\"")
  }

  @Test func `without a fresh picture the condition goes to the origin`() throws {
    let stage = try stage(Self.stale)
    let line = try stage.ask("/a", Self.mine)
    #expect(line.failureCode == "http_status" && line["not_modified"] == nil)
    let other = try stage.ask("/a", #""headers":{"If-None-Match":"\"2\""}"#)
    #expect(other.outcome == "network" && other["bytes"]?.integer == 1_000)
    #expect(
      stage.origin.requests("/a").map { $0.header("if-none-match") } == [nil, "\"1\"", "\"2\""])
  }

  /// Modes that take stored pictures of any age: what they would be shown is what is compared.
  @Test(arguments: ["force-cache", "only-if-cached"], HitTier.allCases)
  func `a stale picture that may be shown is compared, and the word says that it is stale`(
    mode: String, tier: HitTier
  ) throws {
    let stage = try stage(Self.stale)
    try stage.leave(in: tier)
    let line = try stage.ask("/a", #"\#(Self.mine),"cache":"\#(mode)""#)
    #expect(line["not_modified"] == .bool(true) && line["stale"] == .bool(true))
    #expect(line["fresh_for"]?.integer == 0)
    let other = #""headers":{"If-None-Match":"\"2\""},"cache":"\#(mode)""#
    #expect(try stage.ask("/a", other)["not_modified"] == nil)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `a picture that is fetched anew meanwhile is fetched without the client's condition`()
    throws
  {
    let stage = try CoreStage()
    let headers = [("Cache-Control", "max-age=0, stale-while-revalidate=1000")]
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: headers),
      .conditional(png(2_000), tag: "\"2\"", headers: Self.fresh))
    try stage.fetch("/a")
    let both = #""headers":{"If-None-Match":"\"1\", \"2\"","If-Modified-Since":"\#(httpDate())"}"#
    let line = try stage.ask("/a", both)
    #expect(line["not_modified"] == .bool(true) && line["stale"] == .bool(true))
    stage.settle()
    let refresh = try #require(stage.origin.requests("/a").last)
    #expect(refresh.header("if-none-match") == "\"1\"")
    #expect(refresh.header("if-modified-since") == nil)
    #expect(try stage.fetch("/a")["bytes"]?.integer == 2_000)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a stale picture that stands in for its origin is compared`() throws {
    let stage = try CoreStage()
    let headers = [("Cache-Control", "max-age=0, stale-if-error=1000")]
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: headers), .status(503), .status(503))
    try stage.fetch("/a")
    let line = try stage.ask("/a", Self.mine)
    #expect(line["not_modified"] == .bool(true) && line["stale"] == .bool(true))
    let other = try stage.ask("/a", #""headers":{"If-None-Match":"\"2\""}"#)
    #expect(other["not_modified"] == nil && other.outcome == "memory stale")
    #expect(stage.origin.count("/a") == 3)
  }

  @Test func `nothing that is remembered answers for a picture that is not there`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404, headers: [("ETag", "\"1\"")]))
    for _ in 0..<2 { #expect(try stage.ask("/a", Self.mine).failureCode == "http_status") }
    let cached = Self.mine + #","cache":"only-if-cached""#
    #expect(try stage.ask("/a", cached).failureCode == "not_cached")
  }
}
