import ImgdTestSupport
import ImgdWire
import Testing

/// Lines that are wrong as lines: each gets one answer, and the next line works.
struct LineTests {
  private let stage: CoreStage
  private var client: TestClient { stage.client }

  init() throws { stage = try CoreStage("Disk.Enabled=no") }

  @Test(arguments: [
    ("hello", "bad_json"),
    ("{", "bad_json"),
    ("{}x", "bad_json"),
    (#"{"cmd":"ping"},"#, "bad_json"),
    (#"{"cmd":"ping",}"#, "bad_json"),
    (#"{'cmd':'ping'}"#, "bad_json"),
    (#"{"cmd":"ping","cmd":"ping"}"#, "bad_json"),
    (#"{"cmd":"ping","x_a":1,"x_a":1}"#, "bad_json"),
    (#"{"cmd":"ping","x_a":01}"#, "bad_json"),
    (#"{"cmd":"ping","x_a":NaN}"#, "bad_json"),
    (#"{"cmd":"ping","x_a":"\ud800"}"#, "bad_json"),
    (#"{"cmd":"ping","x_a":"\q"}"#, "bad_json"),
    ("{\"cmd\":\"ping\",\"x_a\":\"\t\"}", "bad_json"),
    ("{\"cmd\":\"ping\"}\0", "bad_json"),
    ("{\"cmd\":\"pi\0ng\"}", "bad_json"),
    ("\0", "bad_json"),
    ("[]", "bad_request"),
    ("null", "bad_request"),
    ("7", "bad_request"),
    (#""ping""#, "bad_request"),
    (#"[{"cmd":"ping"}]"#, "bad_request"),
    ("{}", "bad_request"),
    (#"{"cmd":7}"#, "bad_request"),
    (#"{"cmd":null}"#, "bad_request"),
    (#"{"cmd":""}"#, "unknown_command"),
    (#"{"cmd":"PING"}"#, "unknown_command"),
    (#"{"cmd":"fetsh"}"#, "unknown_command"),
    (#"{"cmd":"ping","loud":true}"#, "unknown_field"),
    (#"{"cmd":"stats","url":"http://a/"}"#, "unknown_field"),
    (#"{"cmd":"ping","":1}"#, "unknown_field"),
  ])
  func `a wrong line is refused once`(line: String, code: String) throws {
    try client.send(line, #"{"cmd":"ping","id":"after"}"#)
    let refusal = try client.receive()
    #expect(refusal["ok"]?.bool == false)
    #expect(refusal.failureCode == code, "\(refusal.failureMessage)")
    #expect(!refusal.failureMessage.isEmpty)
    #expect(try client.receive()["id"]?.string == "after")
  }

  @Test func `invalid UTF-8 is refused`() throws {
    for bytes: [UInt8] in [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]] {
      let client = try stage.connect()
      try client.sendRaw(
        Array(#"{"cmd":"ping","x_a":""#.utf8) + bytes + Array("\"}\n{\"cmd\":\"ping\"}\n".utf8))
      #expect(try client.receive().failureCode == "bad_json")
      #expect(try client.receive()["ok"]?.bool == true)
    }
  }

  @Test func `the nesting depth is limited`() throws {
    for opening in ["[", #"{"a":"#] {
      let bomb = String(repeating: opening, count: 10_000)
      let refusal = try client.ask(#"{"cmd":"ping","x_a":"# + bomb)
      #expect(refusal.failureCode == "bad_json")
      #expect(try client.ask(bomb).failureCode == "bad_json")
    }
  }

  @Test func `the id is echoed with every error`() throws {
    #expect(try client.ask(#"{"id":7,"cmd":"nothing"}"#)["id"]?.integer == 7)
    #expect(try client.ask(#"{"id":"é","cmd":"ping","loud":1}"#)["id"]?.string == "é")
    #expect(try client.ask(#"{"cmd":"fetch","url":7,"id":-3}"#)["id"]?.integer == -3)
    #expect(try client.ask(#"{"id":9}"#)["id"]?.integer == 9)
    #expect(
      try client.ask(#"{"id":9223372036854775807,"cmd":"ping"}"#)["id"]?.integer == Int64.max)
  }

  @Test(arguments: [
    "true", "null", "1.5", "[1]", "{}", "9223372036854775808",
    "\"" + String(repeating: "x", count: 65) + "\"",
  ])
  func `an id of another kind is refused`(id: String) throws {
    let refusal = try client.ask(#"{"cmd":"ping","id":\#(id)}"#)
    #expect(refusal.failureCode == "bad_request")
    #expect(refusal.failureField == "id")
    #expect(refusal["id"] == nil)
  }

  @Test func `blank lines and comments are ignored`() throws {
    try client.send(
      "", "   ", "\t", "\r", "# a comment", "  # another", #"{"cmd":"ping","id":1}"#)
    #expect(try client.receive()["id"]?.integer == 1)
    try client.sendRaw(Array("\r\n\r\n{\"cmd\":\"ping\",\"id\":2}\r\n".utf8))
    #expect(try client.receive()["id"]?.integer == 2)
    try client.sendRaw(Array("  {\"cmd\":\"ping\",\"id\":3}  \n".utf8))
    #expect(try client.receive()["id"]?.integer == 3)
  }

  @Test func `the client's own fields are ignored`() throws {
    let line = #"{"x_":1,"cmd":"ping","x_trace":{"a":[1,2,{"b":null}]},"id":1,"x_\u0061":"y"}"#
    #expect(try client.ask(line)["ok"]?.bool == true)
  }

  @Test func `the last line needs no newline`() throws {
    try client.sendRaw(Array(#"{"cmd":"ping","id":1}"#.utf8))
    client.halfClose()
    #expect(try client.receive()["id"]?.integer == 1)
    #expect(try client.isClosedByDaemon())
  }

  @Test func `an incomplete line at the end is refused`() throws {
    try client.sendRaw(Array(#"{"cmd":"pi"#.utf8))
    client.halfClose()
    #expect(try client.receive().failureCode == "bad_json")
    #expect(try client.isClosedByDaemon())
  }

  @Test func `a line may arrive one byte at a time`() throws {
    for byte in Array("{\"cmd\":\"ping\",\"id\":1}\r\n".utf8) { try client.sendRaw([byte]) }
    #expect(try client.receive()["id"]?.integer == 1)
  }

  @Test func `a line of the greatest length is read, and one byte more is refused`() throws {
    let frame = #"{"cmd":"ping","x_a":""}"#.utf8.count
    for (length, isRead) in [(65_536, true), (65_537, false)] {
      let padding = String(repeating: "x", count: length - frame)
      let answer = try client.ask(#"{"cmd":"ping","x_a":"\#(padding)"}"#)
      #expect(answer["ok"]?.bool == isRead)
      #expect(answer.failureCode == (isRead ? nil : "line_too_long"))
    }
  }

  @Test func `a smaller line limit applies at once`() throws {
    try stage.apply("Control.MaxLine=1K")
    let padding = String(repeating: "x", count: 1_024)
    #expect(try client.ask(#"{"cmd":"ping","x_a":"\#(padding)"}"#).failureCode == "line_too_long")
    #expect(try client.ask(#"{"cmd":"hello"}"#)["limits"]?["line"]?.integer == 1_024)
  }
}
