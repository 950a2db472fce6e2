import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

/// The stage itself: tests rely on its limits.
struct CoreStageTests {
  @Test func `a missing answer fails at once and is named`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a"}"#)
    let failure = #expect(throws: TestFailure.self) { try stage.play(#"< {"ok":true}"#) }
    #expect(failure?.description.contains(#"wanted {"ok":true}"#) == true)
  }

  @Test func `a closed gate holds a transfer until it is opened`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a"}"#)
    #expect(gate.arrivals == 1)
    #expect(throws: TestFailure.self) { try stage.client.receive() }
    gate.open()
    #expect(try stage.client.receive()["ok"] == .bool(true))
  }

  @Test func `time stands still until the test advances the clock`() throws {
    let stage = try CoreStage("Downloads.Timeout=5s")
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a"}"#)
    stage.pass(.milliseconds(4_999))
    #expect(stage.origin.running == 1)
    stage.pass(.milliseconds(1))
    #expect(stage.origin.running == 0)
    try stage.play(#"< {"ok":false,"error":{"code":"timeout","details":{"phase":"first_byte"}}}"#)
  }

  @Test(
    arguments: [
      .cut(png(), after: 100), .closed, .reset, .misannounced(png(), as: 2_000),
    ] as [OriginAnswer])
  func `an impossible plan is reported as such`(answer: OriginAnswer) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", answer)
    #expect(try stage.ask("/a").failureCode == "internal")
  }

  @Test func `a plan may fail in every way of the engine`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .fails(.dns))
    #expect(try stage.ask("/a").failureCode == "dns")
  }

  @Test func `another core finds the disk contents of the last one`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    #expect(try stage.outcome("/a") == "network")
    try stage.restart()
    #expect(try stage.outcome("/a") == "disk")
  }
}
