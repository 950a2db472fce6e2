import ImgdTestSupport
import ImgdWire
import Testing

/// Origins that answer 429 or 503 with `Retry-After`.
struct BusyOriginTests {
  private static let busy = [("Retry-After", "30")]

  private func stage(_ status: Int = 429) throws -> CoreStage {
    let stage = try CoreStage(
      "Disk.Enabled=no", "Downloads.MaxPerHost=1", "Downloads.MaxActive=4", "Downloads.Retries=0")
    stage.origin.plan("/busy", .status(status, headers: Self.busy))
    for path in ["/a", "/b", "/c"] { stage.origin.plan(path, .picture(png())) }
    return stage
  }

  @Test(arguments: [429, 503])
  func `what waits for the host is held back, and other hosts are not concerned`(
    status: Int
  ) throws {
    let stage = try stage(status)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":"busy","url":"ORIGIN/busy"}
      < {"id":"busy","ok":false,"error":{"code":"http_status","details":{"status":\#(status),"retry_after_ms":30000}}}
      """#)
    try stage.begin(
      #"{"cmd":"fetch","id":"a","url":"ORIGIN/a"}"#, #"{"cmd":"fetch","id":"b","url":"ORIGIN/b"}"#)
    let elsewhere = stage.origin.url("/c", host: "localhost")
    _ = try stage.play(
      #"""
      > {"cmd":"fetch","id":"c","url":"\#(elsewhere)"}
      < {"id":"c","ok":true}
      """#)
    stage.pass(.milliseconds(29_999))
    #expect(stage.origin.count("/a") == 0)
    #expect(try stage.stats("downloads", "queued") == 2)
    stage.pass(.milliseconds(1))
    #expect(try stage.client.receive(2).allSatisfy { $0["ok"] == .bool(true) })
  }

  @Test func `who waits for the host is told for how long`() throws {
    let stage = try stage()
    _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.base)/busy"}"#)
    stage.pass(.seconds(10))
    try stage.begin(#"{"cmd":"fetch","id":"a","url":"ORIGIN/b"}"#)
    let other = try stage.connect()
    try other.send(#"{"cmd":"fetch","id":"b","url":"\#(stage.base)/a","events":true}"#)
    let event = try other.receive()
    #expect(event["event"] == .string("queued") && event["retry_after_ms"] == .integer(20_000))
    stage.pass(.seconds(5))
    let jobs = try stage.connect().ask(#"{"cmd":"list"}"#)["jobs"]?.array ?? []
    #expect(jobs.map { $0["retry_after_ms"] } == [.integer(15_000), .integer(15_000)])
    stage.pass(.seconds(15))
    #expect(try other.receive()["retry_after_ms"] == nil)
  }

  @Test func `the deadline of a request that waits for the host counts`() throws {
    let stage = try stage()
    _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.base)/busy"}"#)
    try stage.begin(#"{"cmd":"fetch","id":"a","url":"ORIGIN/a","timeout_ms":5000}"#)
    stage.pass(.seconds(5))
    try stage.play(#"< {"id":"a","ok":false,"error":{"code":"timeout"}}"#)
    #expect(try stage.stats("downloads", "queued") == 0)
    #expect(stage.origin.count("/a") == 0)
  }

  @Test func `no host is held back for more than five minutes`() throws {
    let stage = try stage()
    stage.origin.plan("/busy", .status(429, headers: [("Retry-After", "86400")]))
    _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.base)/busy"}"#)
    try stage.begin(#"{"cmd":"fetch","id":"a","url":"ORIGIN/a"}"#)
    stage.pass(.seconds(299))
    #expect(stage.origin.count("/a") == 0)
    stage.pass(.seconds(1))
    try stage.play(#"< {"id":"a","ok":true}"#)
  }
}
