import ImgdTestSupport
import ImgdWire
import Testing

/// Stored pictures are confirmed by their origin, in both tiers alike.
struct ConfirmationTests {
  private static let stale = [("Cache-Control", "max-age=0")]
  private static let date = "Tue, 01 Jul 2025 10:00:00 GMT"

  @Test(
    arguments: HitTier.allCases,
    ["\"1\"", "W/\"1\"", "\"\"", "\"a, b\"", "unquoted", "\"caf\u{e9}\""])
  func `an entity tag is sent back unchanged`(tier: HitTier, tag: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .conditional(png(), tag: tag, headers: Self.stale))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "revalidated")
    let request = try #require(stage.origin.requests("/a").last)
    #expect(request.header("if-none-match") == tag)
    #expect(request.header("if-modified-since") == nil)
  }

  @Test(arguments: HitTier.allCases)
  func `a date of change is sent back unchanged`(tier: HitTier) throws {
    let stage = try CoreStage()
    let headers = Self.stale + [("Last-Modified", Self.date)]
    stage.origin.plan("/a", .picture(png(), headers: headers), .status(304, headers: headers))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "revalidated")
    #expect(stage.origin.requests("/a").last?.header("if-modified-since") == Self.date)
  }

  @Test func `a stale picture without a validator is fetched again`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.stale))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == "network")
    let request = try #require(stage.origin.requests("/a").last)
    #expect(!request.headers.contains { $0.name.hasPrefix("if-") })
  }

  @Test(arguments: HitTier.allCases)
  func `a confirmation renews headers and freshness, and keeps the file`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .conditional(
        png(), tag: "\"1\"",
        headers: [("Cache-Control", "max-age=0"), ("X-N", "1"), ("Content-Type", "image/png")]),
      .conditional(
        png(), tag: "\"1\"",
        headers: [("Cache-Control", "max-age=500"), ("X-N", "2"), ("Content-Type", "text/plain")]))
    let first = try stage.fetch("/a")
    try stage.leave(in: tier)
    let renewed = try stage.ask("/a", #""http":true"#)
    #expect(renewed.outcome == "revalidated")
    for source in [HitTier.memory, .disk] {
      try stage.leave(in: source)
      let line = try stage.ask("/a", #""http":true"#)
      #expect(line.outcome == source.rawValue)
      #expect(line.header("x-n") == "2" && line.header("cache-control") == "max-age=500")
      #expect(line.header("content-type") == "image/png")
      #expect(line["path"]?.string != nil && line["path"] == first["path"])
      #expect(line["fresh_for"]?.integer ?? 0 > 450)
    }
    #expect(stage.files.count == 1)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test(arguments: HitTier.allCases)
  func `a changed picture has other bytes and another path`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: Self.stale),
      .conditional(png(2_000), tag: "\"2\""))
    let first = try #require(stage.fetch("/a")["path"]?.string)
    try stage.leave(in: tier)
    let line = try stage.fetch("/a")
    #expect(line.outcome == "network" && line["bytes"]?.integer == 2_000)
    let second = try #require(line["path"]?.string)
    #expect(first != second)
    #expect(readBytes(second) == png(2_000))
    // A client that was given the first path may still open it.
    #expect(readBytes(first) == png(1_000))
    try stage.leave(in: .disk)
    #expect(try stage.fetch("/a")["path"]?.string == second)
  }

  /// An origin that says "not modified" of another version than was asked about.
  @Test(arguments: HitTier.allCases)
  func `a confirmation of another version causes a new fetch`(tier: HitTier) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: Self.stale),
      .held(at: gate, then: .status(304, headers: [("ETag", "\"2\"")])),
      .conditional(png(2_000), tag: "\"2\"", headers: [("Cache-Control", "max-age=500")]))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","deliver":"none"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a","deliver":"inline"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"source":"network","bytes":2000}
      < {"id":2,"ok":true,"source":"network","bytes":2000,"data":"…"}
      """#)
    #expect(
      stage.origin.requests("/a").map { $0.header("if-none-match") } == [nil, "\"1\"", nil])
    #expect(try stage.outcome("/a") == "memory")
    #expect(try stage.stats("downloads", "started") == 3)
    #expect(try stage.stats("downloads", "completed") == 3)
    #expect(try stage.stats("downloads", "revalidated") == 0)
    #expect(try stage.stats("downloads", "active") == 0)
  }

  @Test func `an origin that confirms every request causes no loop`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.stale),
      .status(304, headers: [("ETag", "\"2\"")]))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == "http_status")
    #expect(stage.origin.count("/a") == 3)
    #expect(try stage.outcome("/a", #""cache":"force-cache""#) == "memory stale")
  }

  @Test func `a fetch that is cancelled between confirmation and new fetch ends once`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.stale),
      .status(304, headers: [("ETag", "\"2\"")]), .held(at: gate, then: .picture(png())))
    try stage.fetch("/a")
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","receipt":"\#(receipt)"}"#)
    #expect(gate.arrivals == 1)
    try stage.play(
      #"""
      > {"cmd":"cancel","id":2,"receipt":"\#(receipt)"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":2,"ok":true,"state":"running"}
      """#)
    gate.open()
    #expect(try stage.outcome("/a") == "network")
    #expect(try stage.stats("downloads", "active") == 0)
  }

  @Test(arguments: [(#"W/"1""#, true), (#"W/"2""#, false)])
  func `a weak tag confirms what it names`(tag: String, isConfirmed: Bool) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.stale),
      .status(304, headers: [("ETag", tag)]), .picture(png()))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == (isConfirmed ? "revalidated" : "network"))
    #expect(stage.origin.count("/a") == (isConfirmed ? 2 : 3))
  }

  /// A picture that a soft purge has marked is confirmed as if it were stale.
  @Test(arguments: HitTier.allCases)
  func `a picture that is marked stale is confirmed and fresh again`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=1000")]))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a","soft":true}
      < {"ok":true}
      """#)
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "revalidated")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == tier.rawValue)
    #expect(stage.origin.count("/a") == 2)
  }
}
