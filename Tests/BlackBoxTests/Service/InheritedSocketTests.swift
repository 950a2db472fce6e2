import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A control socket that the service manager has made, and keeps.
struct InheritedSocketTests {
  private let daemon: ManagedDaemon
  private let listener: CInt

  init() throws {
    daemon = try ManagedDaemon()
    listener = try UnixName.listening(at: daemon.socket)
  }

  private var control: ManagedDaemon.PassedDescriptor { .init(number: listener, name: "control") }

  @Test func `it is served, and is the socket in the configuration`() throws {
    defer { close(listener) }
    try daemon.startReady(inheriting: [control])
    let client = try daemon.connect()
    #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    let config = try client.ask(#"{"cmd":"config"}"#)["config"]
    #expect(config?["Control"]?["Socket"]?.string == daemon.socket)
    #expect(daemon.stop() == 0)
    #expect(daemon.log == "")
  }

  @Test func `the configuration does not decide its path`() throws {
    defer { close(listener) }
    try daemon.startReady(["Control.Socket=/nowhere/at/all"], inheriting: [control])
    let client = try daemon.connect()
    let config = try client.ask(#"{"cmd":"config"}"#)["config"]
    #expect(config?["Control"]?["Socket"]?.string == daemon.socket)
    #expect(try client.ask(#"{"cmd":"reload"}"#)["needs_restart"]?.array?.isEmpty != false)
    #expect(daemon.stop() == 0)
    #expect(daemon.log.contains("Control.Socket=/nowhere/at/all is not used"), "\(daemon.log)")
    #expect(daemon.log.contains(daemon.socket))
  }

  @Test func `clients that connect before the start and between two daemons are answered`() throws {
    defer { close(listener) }
    for _ in 0..<3 {
      let early = try daemon.connect()
      try early.send(#"{"cmd":"ping","id":"early"}"#)
      try daemon.startReady(inheriting: [control])
      #expect(try early.receive()["id"]?.string == "early")
      #expect(daemon.stop() == 0)
      #expect(access(daemon.socket, F_OK) == 0)
      #expect(access(daemon.socket + ".lock", F_OK) != 0)
    }
  }

  @Test(arguments: ["Memory.Capacity=much", "Disk.Directory=/dev/null"])
  func `clients that wait for a daemon that cannot start get the reason`(mistake: String) throws {
    defer { close(listener) }
    let clients = try (0..<3).map { _ in try daemon.connect() }
    for client in clients.dropLast() { try client.send(#"{"cmd":"ping","id":"early"}"#) }
    try daemon.start([mistake], inheriting: [control])
    #expect(daemon.waitForEnd() == EX_CONFIG)
    for client in clients {
      let error = try client.receive()["error"]
      #expect(error?["code"] == .string("unavailable"))
      let value = mistake.split(separator: "=").last ?? ""
      #expect(error?["message"]?.string?.contains(value) == true, "\(error?.text ?? "nothing")")
      #expect(try client.isClosedByDaemon())
    }
    let status = daemon.manager.drain().map(\.text).first { $0.contains("STATUS=") }
    #expect(status?.contains(mistake.split(separator: "=").last ?? "") == true, "\(status ?? "")")
    // And the next one serves.
    try daemon.startReady(inheriting: [control])
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    #expect(daemon.stop() == 0)
  }

  @Test func `a client that connects while one daemon drains is answered by the next`() throws {
    defer { close(listener) }
    let origin = try OriginServer()
    defer { origin.stop() }
    let gate = Gate()
    origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try daemon.startReady(inheriting: [control])
    let first = try daemon.connect()
    try first.send(#"{"cmd":"fetch","url":"\#(origin.url("/a.png"))","deliver":"none"}"#)
    gate.waitUntilReached()
    daemon.signal(SIGTERM)
    #expect(daemon.manager.receive(with: "STOPPING=1") != nil)
    // Both messages are posted in the turn of the loop in which it stops listening.
    #expect(daemon.manager.receive()?.text.hasPrefix("EXTEND_TIMEOUT_USEC=") == true)
    try first.send(#"{"cmd":"ping","id":"turned"}"#)
    while try first.receive()["id"]?.string != "turned" {}
    let meanwhile = try daemon.connect()
    try meanwhile.send(#"{"cmd":"ping","id":"meanwhile"}"#)
    gate.open()
    #expect(try first.receive()["ok"]?.bool == true)
    #expect(daemon.waitForEnd() == 0)
    try daemon.startReady(inheriting: [control])
    #expect(try meanwhile.receive()["id"]?.string == "meanwhile")
    #expect(daemon.stop() == 0)
  }

  @Test func `a descriptor without a name is taken for it`() throws {
    defer { close(listener) }
    try daemon.startReady(inheriting: [.init(number: listener, name: "")])
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    #expect(daemon.stop() == 0)
    #expect(daemon.log == "")
  }

  @Test func `a name with control characters is logged in one line`() throws {
    defer { close(listener) }
    let stranger = ManagedDaemon.PassedDescriptor(number: listener, name: "a\nimgd \u{1B}[31mb")
    try daemon.startReady(inheriting: [stranger, control])
    #expect(daemon.stop() == 0)
    #expect(daemon.log.split(separator: "\n").count == 1)
    #expect(daemon.log.contains(#"under 'a\x0aimgd \x1b[31mb'"#))
  }

  @Test func `unknown descriptors are closed, and a warning is logged`() throws {
    defer { close(listener) }
    let other = try DatagramPeer(daemon.directory + "/other")
    let strangers: [ManagedDaemon.PassedDescriptor] = [
      .init(number: other.number, name: "stranger"), control,
      .init(number: listener, name: "control"), .init(number: other.number, name: ""),
    ]
    try daemon.startReady(inheriting: strangers)
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    #expect(daemon.log.split(separator: "\n").count == 1)
    #expect(
      daemon.log.hasPrefix(
        "imgd: warning: closed what was inherited under 'control', 'stranger', 'unknown' "
          + "(descriptors: 3)"))
    #expect(daemon.stop() == 0)
  }

  @Test func `a descriptor that is no listening stream socket is a configuration error`() throws {
    defer { close(listener) }
    let other = try DatagramPeer(daemon.directory + "/other")
    try daemon.start(inheriting: [.init(number: other.number, name: "control")])
    #expect(daemon.waitForEnd() == EX_CONFIG)
    let complaint = "the inherited descriptor 3 is not a listening Unix stream socket; "
    #expect(daemon.log.hasPrefix("imgd: error: " + complaint))
    #expect(daemon.log.split(separator: "\n").count == 1)
    #expect(daemon.manager.drain().map(\.text).first?.hasPrefix("STATUS=" + complaint) == true)
  }
}
