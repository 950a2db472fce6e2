import ImgdTestSupport
import ImgdWire
import Testing

/// Transfers that ask an origin to confirm, and what may happen to the entry meanwhile.
struct RevalidationTests {
  private static let stale = [("Cache-Control", "max-age=0")]

  @Test func `simultaneous requests for a stale picture share one confirmation`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.stale),
      .held(at: gate, then: .conditional(png(), tag: "\"1\"")))
    try stage.fetch("/a")
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a","deliver":"inline"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"source":"revalidated","coalesced":false}
      < {"id":2,"ok":true,"source":"revalidated","coalesced":true,"data":"…"}
      """#)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `an entry that is purged during its confirmation is delivered and not kept`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.stale),
      .held(at: gate, then: .conditional(png(), tag: "\"1\"")))
    try stage.fetch("/a")
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    try stage.play(
      #"""
      > {"cmd":"purge"}
      < {"ok":true,"memory":{"entries":1}}
      """#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"source":"revalidated","bytes":1000}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test func `an earlier transfer does not replace the result of a later one`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .held(at: gate, then: .picture(png(1_000))), .picture(png(2_000)))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    #expect(gate.arrivals == 1)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","cache":"reload"}
      < {"id":2,"ok":true,"bytes":2000,"coalesced":false}
      """#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"bytes":1000}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/a"}
      < {"id":3,"ok":true,"source":"memory","bytes":2000}
      """#)
  }

  @Test func `a confirmation of an unconditional request is an error of the origin`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(304))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a"}
      < {"id":1,"ok":false,"error":{"code":"http_status","details":{"status":304}}}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","cache":"reload"}
      < {"id":2,"ok":false,"error":{"code":"http_status"}}
      """#)
  }

  @Test(arguments: [
    #""If-None-Match":"\"1\"""#, #""If-Modified-Since":"Tue, 01 Jul 2025 10:00:00 GMT""#,
  ])
  func `a condition of the client's own does no harm`(header: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(304))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","headers":{\#(header)}}
      < {"id":1,"ok":false}
      > {"cmd":"ping","id":2}
      < {"id":2,"ok":true}
      """#)
  }

  @Test func `the client's validator is not mistaken for the cache's`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: Self.stale),
      .conditional(png(2_000), tag: "\"2\"", headers: Self.stale))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","headers":{"If-None-Match":"\"2\""}}
      < {"id":1,"ok":false,"error":{"code":"http_status","details":{"status":304}}}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a"}
      < {"id":2,"ok":true,"source":"network","bytes":2000}
      """#)
    #expect(stage.origin.requests("/a")[1].headers.filter { $0.name == "if-none-match" }.count == 1)
  }

  @Test(arguments: [206, 201, 203])
  func `a successful status is accepted as the whole picture unless it is 206`(
    status: Int
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(status, body: png()))
    let line = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.base)/a"}"#)
    #expect(line["ok"] == .bool(status != 206))
  }
}
