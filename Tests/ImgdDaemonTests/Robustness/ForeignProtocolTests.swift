import ImgdTestSupport
import ImgdWire
import Testing

/// Clients that speak HTTP or TLS to the control socket.
struct ForeignProtocolTests {
  private let stage: CoreStage

  init() throws { stage = try CoreStage("Disk.Enabled=no") }

  /// Everything up to the end of what the daemon says to bytes that begin a connection.
  private func answer(_ bytes: [UInt8]) throws -> String {
    let client = try stage.connect()
    try client.sendRaw(bytes)
    var said: [UInt8] = []
    while true {
      let part = try client.receiveRaw()
      if part.isEmpty { break }
      said += part
    }
    return String(decoding: said, as: UTF8.self)
  }

  private func answer(_ text: String) throws -> String { try answer(Array(text.utf8)) }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.0\n", "POST /a HTTP/1.1\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "OPTIONS * HTTP/1.1\n", "GET /?a=b c HTTP/3\n",
    "\r\n# a comment\nGET / HTTP/1.1\n",
  ])
  func `a web client is answered in its own protocol, and its connection ends`(text: String) throws {
    let said = try answer(text)
    let parts = said.split(separator: "\r\n\r\n", maxSplits: 1)
    #expect(parts.count == 2)
    let head = parts[0].split(separator: "\r\n")
    #expect(head.first == "HTTP/1.1 400 Bad Request")
    #expect(head.contains("Connection: close"))
    #expect(head.contains("Content-Length: \(parts[1].utf8.count)"))
    for word in ["imgd", "JSON", "imgctl", "socat"] { #expect(parts[1].contains(word)) }
  }

  @Test func `a question for a head has no body in its answer`() throws {
    #expect(try answer("HEAD / HTTP/1.1\r\n\r\n").hasSuffix("\r\n\r\n"))
  }

  @Test func `the body of a request means nothing, however long it is`() throws {
    let ping = #"{"cmd":"purge"}"# + "\n"
    let body = String(repeating: ping, count: 20_000)
    let said = try answer("POST / HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
    #expect(said.components == 1)
    #expect(try stage.client.ask(#"{"cmd":"stats"}"#)["clients"]?["errors"]?.integer == 1)
  }

  @Test func `a line without its end means nothing after such a request`() throws {
    let client = try stage.connect()
    try client.sendRaw(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    while try !client.receiveRaw().isEmpty {}
    try client.sendRaw([UInt8](repeating: 0x78, count: 200_000))
    client.halfClose()
    stage.settle()
    #expect(stage.connected == 1)
    #expect(try stage.client.ask(#"{"cmd":"stats"}"#)["clients"]?["errors"]?.integer == 1)
  }

  @Test func `a connection goes when its client goes`() throws {
    let client = try stage.connect()
    try client.sendRaw(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    while try !client.receiveRaw().isEmpty {}
    client.halfClose()
    stage.settle()
    #expect(stage.connected == 1)
  }

  @Test(arguments: [
    "GET / HTTP/1.", "GET / HTTP/", "GET / HTTP/1.12", "get / HTTP/1.1", "GET", "GETHTTP/1.1",
    " HTTP/1.1",
    "GET / FTP/1.1", String(repeating: "G", count: 30) + " / HTTP/1.1",
  ])
  func `other lines are answered as lines`(line: String) throws {
    #expect(try stage.client.ask(line).failureCode == "bad_json")
    #expect(try stage.client.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
  }

  @Test func `only the first line of a connection can be of another protocol`() throws {
    for first in [#"{"cmd":"ping"}"#, "hello"] {
      let client = try stage.connect()
      _ = try client.ask(first)
      #expect(try client.ask("GET / HTTP/1.1").failureCode == "bad_json")
      #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    }
  }

  @Test func `a TLS handshake is refused without waiting for the end of a line`() throws {
    let said = try answer([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
    let line = try JSONValue(parsing: String(said.dropLast()))
    #expect(line.failureCode == "bad_json" && line.failureMessage.contains("TLS"))
  }
}

extension String {
  /// How many answers it has.
  fileprivate var components: Int { split(separator: "HTTP/1.1 400").count }
}
