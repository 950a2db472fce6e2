import ImgdTestSupport
import ImgdWire
import Testing

/// Limits of time, which hold to the nanosecond by the core's own clock.
struct TimeLimitTests {
  private static let one = "11111111-1111-4111-8111-111111111111"
  private static let moment = Duration.nanoseconds(1)

  /// A core with one place, which is taken until the gate opens.
  private func busyStage(_ gate: Gate, _ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(["Downloads.MaxActive=1", "Disk.Enabled=no"] + settings)
    stage.origin.plan("/busy", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","id":"busy","url":"ORIGIN/busy"}"#)
    return stage
  }

  @Test func `a request ends exactly when its own time is over`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","timeout_ms":1500}"#)
    stage.jump(.milliseconds(1_500) - Self.moment)
    #expect(stage.origin.running == 1)
    stage.jump(Self.moment)
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"timeout","retryable":true}}"#)
    #expect(stage.origin.running == 0)
  }

  @Test func `the time of a request runs while it is queued`() throws {
    let gate = Gate()
    let stage = try busyStage(gate)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","timeout_ms":1500}"#)
    stage.jump(.milliseconds(1_500))
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"timeout"}}"#)
    gate.open()
    try stage.play(#"< {"id":"busy","ok":true}"#)
    #expect(stage.origin.count("/a") == 0)
  }

  @Test func `the server's time for a download counts from its start`() throws {
    let gate = Gate()
    let stage = try busyStage(gate, "Downloads.Timeout=20s")
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    stage.jump(.seconds(15))
    gate.open()
    try stage.play(#"< {"id":"busy","ok":true}"#)
    stage.jump(.seconds(20) - Self.moment)
    #expect(stage.origin.running == 1)
    stage.jump(Self.moment)
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"timeout"}}"#)
  }

  @Test(arguments: [(Duration.seconds(10), "/young"), (.seconds(10) + moment, "/old")])
  func `a download that has waited for more than ten seconds starts before all younger ones`(
    waiting: Duration, first: String
  ) throws {
    let gate = Gate()
    let stage = try busyStage(gate)
    stage.origin.plan("/old", .picture(png()))
    stage.origin.plan("/young", .picture(png()))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/old","priority":"low"}"#)
    stage.jump(waiting)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/young","priority":"high"}"#)
    gate.open()
    #expect(try stage.client.receive(3).allSatisfy { $0["ok"] == .bool(true) })
    #expect(stage.origin.requests[1].path == first)
  }

  @Test func `an outcome is kept for ten minutes`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      """#)
    stage.jump(.seconds(600))
    try stage.play(
      #"""
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      < {"id":2,"ok":true}
      """#)
    stage.jump(Self.moment)
    try stage.play(
      #"""
      > {"cmd":"wait","id":3,"receipt":"\#(Self.one)"}
      < {"id":3,"ok":false,"error":{"code":"unknown_receipt"}}
      """#)
  }

  // MARK: Clients that do not read

  /// Sends more requests than their answers have room for.
  private func overfill(_ client: TestClient) throws {
    let ask = [String](repeating: #"{"cmd":"config"}"#, count: 2_000)
    try client.send(ask.joined(separator: "\n"))
  }

  @Test func `a client that reads nothing is closed after half a minute`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    let client = try stage.connect()
    try overfill(client)
    stage.settle()
    stage.pass(.seconds(30) - Self.moment)
    #expect(stage.connected == 2)
    stage.jump(Self.moment)
    #expect(stage.connected == 1)
    #expect(try stage.stats("clients", "slow_closed") == 1)
  }

  @Test func `a client that reads a little now and then stays connected`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    let client = try stage.connect()
    try overfill(client)
    for _ in 0..<6 {
      stage.jump(.seconds(29))
      // The kernel reports space when most bytes in the socket have been read.
      _ = try client.receive(300)
    }
    #expect(stage.connected == 2)
    #expect(try client.receive(200).allSatisfy { $0["ok"] == .bool(true) })
    #expect(try stage.stats("clients", "slow_closed") == 0)
  }
}
