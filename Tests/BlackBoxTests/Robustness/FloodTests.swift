import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Clients that send very much, and read slowly.
@Suite(.serialized) struct FloodTests {
  @Test func `a client that reads late gets every answer`() throws {
    let daemon = try DaemonProcess()
    let client = try RawClient(daemon)
    let line = Array("{\"cmd\":\"config\"}\n".utf8)
    let sent = client.pushUntilRefused(line, atMost: 4 << 20)
    // A line may have been cut in the middle: it ends here.
    client.halfClose()
    let answers = lineCount(client.takeAll())
    #expect(answers == (sent + line.count - 1) / line.count)
  }

  @Test func `a client that reads byte by byte gets its answers`() throws {
    let daemon = try DaemonProcess()
    let client = try RawClient(daemon)
    for _ in 0..<20 { client.say(#"{"cmd":"config"}"#) }
    client.halfClose()
    #expect(lineCount(client.takeAll(1)) == 20)
  }

  @Test func `descriptors for who never reads stay within bounds`() throws {
    let origin = try OriginServer()
    let gate = Gate()
    origin.plan("/a.png", .held(at: gate, then: .picture(TestPicture.png(bytes: 2_000))))
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let client = try RawClient(daemon)
    let before = daemon.openFiles
    for _ in 0..<500 {
      client.say(#"{"cmd":"fetch","url":"\#(origin.url("/a.png"))","deliver":"fd"}"#)
    }
    #expect(try becomes { try witness.ask(#"{"cmd":"list"}"#).jobCount == 500 })
    gate.open()
    #expect(try becomes { try witness.ask(#"{"cmd":"list"}"#).jobCount == 0 })
    #expect(daemon.openFiles - before < 80)
    client.halfClose()
    let text = client.takeAll()
    #expect(lineCount(text) == 500)
    #expect(!String(decoding: text, as: UTF8.self).contains(#""ok":false"#))
  }
}
