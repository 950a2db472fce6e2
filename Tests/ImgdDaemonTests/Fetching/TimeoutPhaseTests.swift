import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdTransfer

struct TimeoutPhaseTests {
  /// The phase that the next answer names, whose message has to contain some words.
  private func phase(_ stage: CoreStage, saying words: String = "within") throws -> String {
    let line = try stage.client.receive()
    #expect(line.failureCode == "timeout")
    #expect(line.failureMessage.contains(words), "\(line.failureMessage)")
    return line["error"]?["details"]?["phase"]?.string ?? "none"
  }

  @Test func `a request past its time says that it was in the queue`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/a", .silence)
    stage.origin.plan("/b", .picture(png()))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/b","timeout_ms":50}"#)
    stage.pass(.milliseconds(50))
    #expect(try phase(stage, saying: "waited 50ms in the queue; ") == "queue")
  }

  @Test func `a request for a host that wants to be left alone says so when its time is over`()
    throws
  {
    let stage = try CoreStage("Downloads.Retries=0")
    stage.origin.plan("/a", .status(429, headers: [("Retry-After", "30")]))
    stage.origin.plan("/b", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":false,"error":{"code":"http_status"}}
      """#)
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/b","timeout_ms":50}"#)
    stage.pass(.milliseconds(50))
    #expect(try phase(stage, saying: "asked to be left alone") == "queue")
  }

  @Test func `a request whose turn comes with the end of its time says that it was in the queue`()
    throws
  {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/a", .silence)
    stage.origin.plan("/b", .silence)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","timeout_ms":50}"#)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/b","timeout_ms":50}"#)
    stage.pass(.milliseconds(50))
    #expect(try phase(stage, saying: "no answer from") == "first_byte")
    #expect(try phase(stage, saying: "waited 50ms in the queue") == "queue")
  }

  @Test func `a request past its time says that it waited for the answer, or for the body`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a","timeout_ms":50}"#)
    stage.pass(.milliseconds(50))
    #expect(try phase(stage, saying: "no answer from 127.0.0.1 within 50ms") == "first_byte")
    stage.origin.plan("/b", .stalls(png(), after: 100))
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/b","timeout_ms":50}"#)
    stage.pass(.milliseconds(50))
    #expect(try phase(stage, saying: "no whole picture from 127.0.0.1 within 50ms") == "body")
  }

  @Test(arguments: TransferPhase.allCases)
  func `a transfer past its time says what it waited for`(waiting: TransferPhase) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .fails(.timeout(waiting)))
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a"}"#)
    #expect(try phase(stage, saying: "the plan says so") == waiting.name)
  }
}
