import ImgdTestSupport
import ImgdWire
import Testing

/// The configuration as clients see it, and the effects of a change.
struct ConfigurationTests {
  @Test func `hello names the daemon, and a restarted daemon is another instance`() throws {
    let hello = #"""
      > {"cmd":"hello","id":1}
      < {"id":1,"ok":true,"protocol":1,"server":"imgd","version":"…","features":"…","limits":{"line":65536,"url":8192,"inline":262144,"identifier":256,"slot":128,"tags":16,"tag":64,"clients":1024,"receipts_per_connection":10000,"queued":100000,"request_bytes":16777216,"unsent_bytes":262144,"unsent_descriptors":64,"max_bytes":67108864,"max_active":32},"instance":"…"}
      """#
    let stage = try CoreStage()
    let first = try stage.play(hello)[0]["instance"]
    #expect(try stage.play(hello)[0]["instance"] == first)
    try stage.restart()
    #expect(try stage.play(hello)[0]["instance"] != first)
  }

  @Test func `the limits follow the configuration`() throws {
    let stage = try CoreStage(
      "Control.MaxInline=1K", "Downloads.MaxActive=7", "Downloads.MaxBytes=5M")
    try stage.play(
      #"""
      > {"cmd":"hello"}
      < {"ok":true,"limits":{"inline":1024,"max_active":7,"max_bytes":5242880}}
      > {"cmd":"config"}
      < {"ok":true,"config":{"Control":{"MaxInline":"1K"},"Downloads":{"MaxActive":"7","MaxBytes":"5M","Order":"fifo"},"HTTP":"…","Memory":"…","Network":"…"}}
      """#)
  }

  @Test func `a new longest line applies to open connections`() throws {
    let stage = try CoreStage()
    let long = String(repeating: "x", count: 3_000)
    let request = #"{"cmd":"ping","x_note":"\#(long)"}"#
    #expect(try stage.client.ask(request)["ok"] == .bool(true))
    try stage.apply("Control.MaxLine=2K")
    #expect(try stage.client.ask(request)["error"]?["code"] == .string("line_too_long"))
    #expect(try stage.connect().ask(request)["error"]?["code"] == .string("line_too_long"))
  }

  @Test func `remembered failures are dropped when their setting changes`() throws {
    let stage = try CoreStage("HTTP.NegativeFreshness=1h")
    stage.origin.plan("/a", .status(404), .picture(png(1_000)))
    let fetch = #"{"cmd":"fetch","url":"\#(stage.origin.url("/a"))"}"#
    for _ in 0..<2 { #expect(try stage.client.ask(fetch)["ok"] == .bool(false)) }
    #expect(stage.origin.count("/a") == 1)
    try stage.apply("Memory.MaxEntry=1M")
    #expect(try stage.client.ask(fetch)["ok"] == .bool(false))
    try stage.apply("HTTP.NegativeFreshness=0s")
    #expect(try stage.client.ask(fetch)["ok"] == .bool(true))
  }
}
