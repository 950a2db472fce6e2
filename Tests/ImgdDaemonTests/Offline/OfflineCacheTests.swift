import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// What is stored, on a machine without a route.
struct OfflineCacheTests {
  private static let stale = [("Cache-Control", "max-age=10")]

  /// A core that has had `/a` for a minute, and is offline.
  private func stage(_ control: String, _ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(settings)
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: [("Cache-Control", control)]))
    _ = try stage.client.ask(stage.line("/a"))
    stage.pass(.seconds(60))
    stage.goOffline()
    return stage
  }

  @Test("a stale picture is shown at once, and says why", arguments: HitTier.allCases)
  func shown(tier: HitTier) throws {
    let stage = try stage("max-age=10")
    try stage.leave(in: tier)
    stage.goOffline()
    let line = try stage.client.ask(stage.line("/a"))
    #expect(line.outcome == "\(tier) stale")
    #expect(line["offline"] == .bool(true))
    #expect(stage.origin.count("/a") == 1)
  }

  @Test("a fresh picture is a hit like any other")
  func fresh() throws {
    let stage = try stage("max-age=1000")
    let line = try stage.client.ask(stage.line("/a"))
    #expect(line.outcome == "memory" && line["offline"] == nil)
  }

  @Test("nothing is refreshed behind a stale picture, and later it is")
  func refreshing() throws {
    let stage = try stage("max-age=10, stale-while-revalidate=1000")
    for _ in 0..<3 { #expect(try stage.client.ask(stage.line("/a")).outcome == "memory stale") }
    #expect(try stage.client.ask(#"{"cmd":"list"}"#).jobCount == 0)
    stage.goOnline()
    #expect(stage.origin.count("/a") == 1)
    let line = try stage.client.ask(stage.line("/a"))
    #expect(line.outcome == "memory stale" && line["offline"] == nil)
    stage.settle()
    #expect(stage.origin.count("/a") == 2)
  }

  @Test("what was to be confirmed when the network goes is shown at once, whether it waits or is under way")
  func confirming() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    let gate = Gate()
    for path in ["/a", "/b"] {
      stage.origin.plan(
        path, .picture(png(), headers: Self.stale), .held(at: gate, then: .fails(.connect)))
      _ = try stage.client.ask(stage.line(path))
    }
    stage.pass(.seconds(60))
    try stage.begin(stage.line("/a"))
    try stage.begin(stage.line("/b"))
    stage.goOffline()
    for path in ["/a", "/b"] {
      let line = try stage.client.receive()
      #expect(line["url"] == .string(stage.origin.url(path, host: "far.example")))
      #expect(line.outcome == "memory stale" && line["offline"] == .bool(true))
    }
    gate.open()
  }

  @Test(
    "what the origin wants confirmed, or the request, waits",
    arguments: [
      ("max-age=10, must-revalidate", "default", "revalidated"),
      ("max-age=10, no-cache", "default", "revalidated"), ("max-age=10", "no-cache", "revalidated"),
      ("max-age=1000", "no-cache", "revalidated"), ("max-age=10", "reload", "network"),
    ])
  func waiting(control: String, mode: String, source: String) throws {
    let stage = try stage(control)
    try stage.begin(stage.line("/a", #","cache":"\#(mode)""#))
    stage.pass(.seconds(5))
    #expect(try stage.client.receiveNow() == nil)
    let hasty = try stage.connect().ask(stage.line("/a", #","cache":"\#(mode)","wait_online":false"#))
    #expect(hasty.failureCode == "offline")
    stage.goOnline()
    #expect(try stage.client.receive().outcome == source)
  }

  @Test("where the origin lets a stale answer stand in for a failure, being offline is one")
  func standingIn() throws {
    let stage = try stage("max-age=10, stale-if-error=1000")
    let line = try stage.client.ask(stage.line("/a", #","cache":"no-cache","wait_online":false"#))
    #expect(line.outcome == "memory stale")
    #expect(line["offline"] == .bool(true))
  }

  @Test("a picture that a soft purge has marked is shown")
  func marked() throws {
    let stage = try stage("max-age=1000")
    _ = try stage.client.ask(#"{"cmd":"purge","soft":true}"#)
    stage.settle()
    #expect(try stage.client.ask(stage.line("/a")).outcome == "memory stale")
  }

  @Test("a client that has the stale picture is told so")
  func condition() throws {
    let stage = try stage("max-age=10")
    let line = try stage.client.ask(stage.line("/a", #","headers":{"If-None-Match":"\"1\""}"#))
    #expect(line["not_modified"] == .bool(true) && line["stale"] == .bool(true))
    #expect(line["offline"] == .bool(true))
  }

  @Test("a stale redirect is followed, and a stale failure is not given")
  func answers() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/from", .redirect(to: stage.origin.url("/to", host: "far.example"), headers: Self.stale))
    stage.origin.plan("/to", .picture(png(), headers: Self.stale))
    stage.origin.plan("/gone", .status(404, headers: Self.stale), .picture(png()))
    _ = try stage.client.ask(stage.line("/from"))
    #expect(try stage.client.ask(stage.line("/gone")).failureCode == "http_status")
    stage.pass(.seconds(60))
    stage.goOffline()
    let line = try stage.client.ask(stage.line("/from"))
    #expect(line.outcome == "memory stale")
    #expect(line["final_url"] == .string(stage.origin.url("/to", host: "far.example")))
    try stage.begin(stage.line("/gone"))
    stage.goOnline()
    #expect(try stage.client.receive().outcome == "network")
  }

  @Test("a form of a stale picture is shown as well")
  func form() throws {
    let stage = try stage("max-age=10")
    let options = #","resize":{"width":16},"deliver":"fd""#
    stage.goOnline()
    _ = try stage.client.ask(stage.line("/a", options))
    stage.pass(.seconds(60))
    stage.goOffline()
    let line = try stage.client.ask(stage.line("/a", options))
    #expect(line["stale"] == .bool(true) && line["offline"] == .bool(true))
    #expect(stage.origin.requests.count == 2)
  }
}
