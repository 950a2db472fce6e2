import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

struct ServiceTests {
  @Test func `a reload reports the changed keys and those that need a restart`() throws {
    let stage = try Stage(configuration: "[Downloads]\nOrder=fifo\n")
    try stage.daemon.rewrite(
      configuration: "[Downloads]\nOrder=lifo\nRetries=7\n[Control]\nMaxInline=1K\n")
    try stage.play(
      #"""
      > {"cmd":"reload","id":1}
      < {"id":1,"ok":true,"changed":["Control.MaxInline","Downloads.Order","Downloads.Retries"]}
      > {"cmd":"config"}
      < {"ok":true,"config":{"Downloads":{"Order":"lifo","Retries":"7"}}}
      > {"cmd":"reload","id":2}
      < {"id":2,"ok":true,"changed":[]}
      """#)
  }

  @Test func `a reload of a wrong file names the line and changes nothing`() throws {
    let stage = try Stage(configuration: "[Downloads]\nOrder=lifo\n")
    try stage.daemon.rewrite(configuration: "[Downloads]\nOrder=fifo\nRetries=often\n")
    let line = try stage.play(
      #"""
      > {"cmd":"reload","id":1}
      < {"id":1,"ok":false,"error":{"code":"bad_request"}}
      > {"cmd":"config"}
      < {"ok":true,"config":{"Downloads":{"Order":"lifo","Retries":"2"}}}
      """#)[0]
    #expect(line["error"]?["message"]?.string?.contains("imgd.conf:3") == true)
  }

  // MARK: Signals

  @Test(arguments: [SIGTERM, SIGINT])
  func `a daemon that is told to stop finishes running fetches, answers all clients and ends well`(
    signal: CInt
  ) throws {
    let stage = try Stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    let other = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/a"}"#, on: other)
    stage.daemon.signal(signal)
    try stage.waitUntilItStops()
    gate.open()
    try stage.play(#"< {"id":1,"ok":true}"#)
    try stage.play(#"< {"id":2,"ok":true}"#, on: other)
    #expect(try other.isClosedByDaemon())
    #expect(stage.daemon.waitForEnd() == 0)
    #expect(access(stage.daemon.socket, F_OK) != 0)
  }

  @Test func `an idle daemon ends at once`() throws {
    let stage = try Stage()
    #expect(try stage.client.ask(#"{"cmd":"ping"}"#)["ok"] == true)
    stage.daemon.signal(SIGTERM)
    #expect(try stage.client.isClosedByDaemon())
    #expect(stage.daemon.waitForEnd() == 0)
  }

  @Test func `a second signal ends a busy daemon`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    stage.daemon.signal(SIGTERM)
    try stage.waitUntilItStops()
    stage.daemon.signal(SIGTERM)
    #expect(stage.daemon.waitForEnd() == 0)
  }

  @Test func `a client that waits for a detached fetch delays the end no longer than the fetch`()
    throws
  {
    let stage = try Stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"11111111-1111-4111-8111-111111111111"}
      < {"id":1,"ok":true}
      > {"cmd":"wait","id":2,"receipt":"11111111-1111-4111-8111-111111111111"}
      """#)
    stage.daemon.signal(SIGTERM)
    try stage.waitUntilItStops()
    gate.open()
    try stage.play(#"< {"id":2,"ok":true}"#)
    #expect(stage.daemon.waitForEnd() == 0)
  }
}
