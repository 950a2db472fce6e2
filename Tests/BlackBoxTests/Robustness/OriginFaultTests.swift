import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Origins that do what they should not: the right code, nothing cached, nobody else delayed, no descriptor lost.
///
/// One of each kind: which faults there are, and what each of them is, is tested with the engine and with the core.
struct OriginFaultTests {
  private struct Fault: Sendable {
    let name: String
    let code: String
    var extra = ""
    let answer: OriginAnswer
  }

  private static let picture = TestPicture.png(bytes: 5_000)
  /// An origin of a busy machine may take its time.
  private static let settings = [
    "Downloads.ConnectTimeout=60s", "Downloads.IdleTimeout=60s", "Downloads.Timeout=60s",
    "Downloads.Retries=0", "Downloads.MaxBytes=1M",
  ]

  private static let faults = [
    Fault(name: "closes", code: "connect", answer: .closed),
    Fault(name: "hangs", code: "timeout", extra: #","timeout_ms":1000"#, answer: .silence),
    Fault(name: "breaks off", code: "truncated", answer: .cut(picture, after: 1_000)),
    Fault(
      name: "sends HTML as image/png", code: "not_an_image",
      answer: .picture(Array("<!DOCTYPE html><html><body>Sorry</body></html>".utf8))),
    Fault(name: "sends without end", code: "too_large", answer: .endless()),
    Fault(
      name: "redirects to link-local", code: "blocked_address",
      answer: .redirect(to: "http://169.254.169.254/latest/meta-data")),
  ]

  /// The faults of one daemon, each of an origin of its own.
  @Test func `a fault is told and nothing is kept`() throws {
    let daemon = try DaemonProcess(settings: Self.settings)
    let witness = try Witness(daemon)
    for (number, fault) in Self.faults.enumerated() {
      try expect(fault, of: daemon, seenBy: witness)
      let kept = try witness.ask(#"{"cmd":"entries"}"#)["entries"]?.array?.count
      #expect(kept == number + 1, "\(fault.name)")
    }
  }

  private func expect(_ fault: Fault, of daemon: DaemonProcess, seenBy witness: Witness) throws {
    let origin = try OriginServer()
    defer { origin.stop() }
    origin.plan("/fine.png", .picture(Self.picture))
    let hit = #"{"cmd":"fetch","url":"\#(origin.url("/fine.png"))","deliver":"none"}"#
    #expect(try witness.ask(hit)["ok"]?.bool == true, "\(fault.name)")
    origin.plan("/fault", fault.answer)
    let files = daemon.openFiles

    let client = try daemon.connect()
    try client.send(
      #"{"cmd":"fetch","id":1,"url":"\#(origin.url("/fault"))"\#(fault.extra)}"#, hit)
    let lines = [try client.receive(), try client.receive()]
    let other = try #require(lines.first { $0["id"] == nil }, "\(fault.name)")
    let answer = try #require(lines.first { $0["id"] != nil }, "\(fault.name)")
    #expect(other["source"]?.string == "memory", "\(fault.name): nothing is held up by it")
    // A fault that is there at once may be told before the next line is looked at.
    #expect(lines[0]["id"] == nil || fault.code != "timeout", "\(fault.name)")
    #expect(answer["ok"]?.bool == false, "\(fault.name)")
    #expect(answer.failureCode == fault.code, "\(fault.name): \(answer.failureMessage)")
    #expect(!answer.failureMessage.isEmpty, "\(fault.name)")
    #expect(try witness.waits(for: "downloads", "active", toBe: 0), "\(fault.name)")
    #expect(
      try becomes { daemon.openFiles <= files + 3 }, "\(fault.name): idle connections are kept")
    #expect(try client.ask(hit)["ok"]?.bool == true, "\(fault.name)")
  }

  /// What runs beside an origin must hold nothing of it, or its end would not be seen.
  @Test func `an origin's end is seen whatever has been started meanwhile`() throws {
    let gate = Gate()
    let origin = try OriginServer()
    origin.plan("/a.png", .held(at: gate, then: .closed))
    let daemon = try DaemonProcess(settings: Self.settings)
    let client = try daemon.connect()
    try client.send(#"{"cmd":"fetch","url":"\#(origin.url("/a.png"))"}"#)
    #expect(gate.waitUntilReached())
    let neighbour = try DaemonProcess()
    gate.open()
    #expect(try client.receive().failureCode == "connect")
    neighbour.kill()
  }
}
