import ImgdTestSupport
import ImgdWire
import Testing

struct ConnectionTests {
  @Test func `a new connection receives nothing, and blank lines and comments get no answer`()
    throws
  {
    let stage = try CoreStage()
    try stage.client.sendRaw(Array("\n\r\n# hello\n   \n{\"cmd\":\"ping\"}\r\n".utf8))
    #expect(try stage.client.receive()["ok"] == .bool(true))
  }

  @Test func `the last line needs no newline, and the daemon closes once it is answered`() throws {
    let stage = try CoreStage()
    try stage.client.sendRaw(Array(#"{"cmd":"ping","id":1}"#.utf8))
    stage.client.halfClose()
    #expect(try stage.client.receive()["id"] == .integer(1))
    #expect(try stage.client.isClosedByDaemon())
  }

  @Test func `a half-closed connection receives spaces until it is answered`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    stage.client.halfClose()
    stage.pass(.milliseconds(750))
    #expect(try stage.client.receiveRaw() == Array("   ".utf8))
    gate.open()
    #expect(try stage.client.receive()["ok"] == .bool(true))
    #expect(try stage.client.isClosedByDaemon())
  }

  @Test func `a request may arrive in pieces`() throws {
    let stage = try CoreStage()
    for byte in Array((#"{"cmd":"ping","id":"piece by piece"}"# + "\n").utf8) {
      try stage.client.sendRaw([byte])
    }
    #expect(try stage.client.receive()["id"] == .string("piece by piece"))
  }

  @Test func `a line that is too long is refused, and the next one is read`() throws {
    let stage = try CoreStage("Control.MaxLine=2K")
    let long = String(repeating: "x", count: 5_000)
    try stage.play(
      #"""
      > {"cmd":"ping","id":"\#(long)"}
      > {"cmd":"ping","id":2}
      < {"ok":false,"error":{"code":"line_too_long"}}
      < {"id":2,"ok":true}
      """#)
  }

  static let refused: [(line: String, code: String)] = [
    ("{", "bad_json"), ("[]", "bad_request"), ("5", "bad_request"), ("{}", "bad_request"),
    (#"{"cmd":5}"#, "bad_request"), (#"{"cmd":"ping","cmd":"ping"}"#, "bad_json"),
    (#"{"cmd":"ping",}"#, "bad_json"), (#"{"cmd":"ping"} x"#, "bad_json"),
    (#"{"cmd":"ping","id":1.5}"#, "bad_request"), (#"{"cmd":"ping","id":null}"#, "bad_request"),
    (#"{"cmd":"PING"}"#, "unknown_command"),
    (#"{"cmd":"fetch","url":"http://h/","urls":1}"#, "unknown_field"),
    (#"{"cmd":"fetch","url":5}"#, "bad_request"),
    (#"{"cmd":"fetch","url":"http://h/","timeout_ms":0}"#, "bad_request"),
    (#"{"cmd":"fetch","url":"http://h/","max_bytes":0}"#, "bad_request"),
    (#"{"cmd":"fetch","url":"http://h/","ttl":-1}"#, "bad_request"),
    (#"{"cmd":"fetch","url":"http://h/","slot":""}"#, "bad_request"),
    (#"{"cmd":"fetch","url":"http://h/","tags":[""]}"#, "bad_request"),
    (#"{"cmd":"fetch","url":"http://h/","cache":"sometimes"}"#, "bad_request"),
    (#"{"cmd":"fetch","url":"http://h/","wait":"no"}"#, "bad_request"),
  ]

  @Test(arguments: refused)
  func `a line that is not a request is refused, and the connection stays open`(
    line: String, code: String
  ) throws {
    let stage = try CoreStage()
    try stage.play(
      #"""
      > \#(line)
      > {"cmd":"ping","id":"on"}
      < {"ok":false,"error":{"code":"\#(code)","message":"…","retryable":false}}
      < {"id":"on","ok":true}
      """#)
    #expect(try stage.stats("clients", "errors") == 1)
  }

  @Test func `a client above the limit is refused and closed, and may come back later`() throws {
    let stage = try CoreStage("Control.MaxClients=2")
    var second: TestClient? = try stage.connect()
    _ = try second?.ask(#"{"cmd":"ping"}"#)
    let third = try stage.connect()
    #expect(try third.receive()["error"]?["code"] == .string("too_many_requests"))
    #expect(try third.isClosedByDaemon())
    second?.halfClose()
    #expect(try second?.isClosedByDaemon() == true)
    second = nil
    #expect(try stage.connect().ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
  }

  @Test func `a thousand requests in one write are all answered, hits in order`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    let lines = (0..<1_000).map { #"{"cmd":"fetch","id":\#($0),"url":"\#(stage.base)/a"}"# }
    try stage.client.send(lines.joined(separator: "\n"))
    #expect(try stage.client.receive(1_000).map { $0["id"]?.integer } == Array(0..<1_000))
  }

  @Test func `a client that does not read loses no answer`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(20_000)))
    try stage.fetch("/a")
    let line = #"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"inline"}"#
    // About five megabytes of answers, far beyond what may be unsent.
    try stage.client.send(([String](repeating: line, count: 200)).joined(separator: "\n"))
    try stage.play(
      #"""
      > {"cmd":"ping"}
      < {"ok":true}
      """#, on: try stage.connect())
    #expect(try stage.client.receive(200).allSatisfy { $0["ok"] == .bool(true) })
  }
}
