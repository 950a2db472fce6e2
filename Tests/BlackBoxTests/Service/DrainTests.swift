import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// How a daemon ends that has work left.
struct DrainTests {
  private let origin: OriginServer
  private let gate = Gate()
  private let daemon: ManagedDaemon

  init() throws {
    origin = try OriginServer()
    origin.plan("/held.png", .held(at: gate, then: .picture(png())))
    daemon = try ManagedDaemon()
    try daemon.startReady()
  }

  /// A client whose fetch the origin holds at the gate.
  private func waiting(_ id: String) throws -> TestClient {
    let client = try daemon.connect()
    try client.send(
      #"{"cmd":"fetch","id":"\#(id)","url":"\#(origin.url("/held.png"))","deliver":"none"}"#,
      #"{"cmd":"ping","id":"taken in"}"#)
    #expect(try client.receive()["id"]?.string == "taken in")
    gate.waitUntilReached()
    return client
  }

  @Test func `a download that runs is finished`() throws {
    defer { origin.stop() }
    let client = try waiting("a")
    daemon.signal(SIGTERM)
    #expect(daemon.manager.receive(with: "STOPPING=1") != nil)
    gate.open()
    let line = try client.receive()
    #expect(line["id"]?.string == "a")
    #expect(line["ok"]?.bool == true)
    #expect(daemon.waitForEnd() == 0)
    #expect(try client.isClosedByDaemon())
  }

  @Test(arguments: [#"{"cmd":"purge","host":"a.b"}"#, #"{"cmd":"entries","tier":"disk"}"#])
  func `commands for the disk are answered`(line: String) throws {
    defer { origin.stop() }
    let client = try daemon.connect()
    let count = 500
    try client.send(Array(repeating: line, count: count).joined(separator: "\n"))
    #expect(try client.receive()["ok"]?.bool == true)
    daemon.signal(SIGTERM)
    for _ in 1..<count { #expect(try client.receive()["ok"]?.bool == true) }
    #expect(try client.isClosedByDaemon())
    #expect(daemon.waitForEnd() == 0)
  }

  /// So many last lines do not fit into a socket at once.
  @Test func `a client that waits for thousands gets a last line for each`() throws {
    defer { origin.stop() }
    origin.plan("/hangs", .silence)
    let client = try daemon.connect()
    // Under a sanitizer so many would take longer than a stop may.
    let count = Sanitizer.isOn ? 1_000 : 5_000
    let url = origin.url("/hangs")
    for number in 0..<count {
      try client.send(#"{"cmd":"fetch","id":\#(number),"url":"\#(url)"}"#)
    }
    #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    daemon.signal(SIGTERM)
    var ended: Set<Int64> = []
    for _ in 0..<count {
      let line = try client.receive()
      #expect(line["error"]?["code"]?.string == "shutting_down")
      if let id = line["id"]?.integer { ended.insert(id) }
    }
    #expect(ended.count == count)
    #expect(try client.isClosedByDaemon())
    #expect(daemon.waitForEnd() == 0)
  }

  @Test func `no reload begins any more`() throws {
    defer { origin.stop() }
    let client = try waiting("a")
    daemon.signal(SIGTERM)
    #expect(daemon.manager.receive(with: "STOPPING=1") != nil)
    daemon.signal(SIGHUP)
    #expect(try client.ask(#"{"cmd":"reload"}"#)["error"]?["code"]?.string == "shutting_down")
    gate.open()
    #expect(daemon.waitForEnd() == 0)
    let said = daemon.manager.drain().flatMap(\.lines)
    #expect(!said.contains { $0.hasPrefix("RELOADING=") || $0.hasPrefix("READY=") })
  }

  @Test
  func `a reload that waits for its turn does not begin any more, and its client gets an error`()
    throws
  {
    defer { origin.stop() }
    let holding = try waiting("a")
    let parts = daemon.directory + "/imgd.conf.d"
    #expect(mkdir(parts, 0o700) == 0 && mkfifo(parts + "/slow.conf", 0o600) == 0)
    let clients = [try daemon.connect(), try daemon.connect()]
    for client in clients {
      try client.send(#"{"cmd":"reload"}"#, #"{"cmd":"ping","id":"taken in"}"#)
      #expect(try client.receive()["id"]?.string == "taken in")
    }
    daemon.signal(SIGTERM)
    #expect(daemon.manager.receive(with: "STOPPING=1") != nil)
    #expect(try clients[1].receive()["error"]?["code"]?.string == "shutting_down")
    // What is being read comes to its end.
    let writer = open(parts + "/slow.conf", O_WRONLY)
    close(writer)
    #expect(try clients[0].receive()["ok"]?.bool == true)
    gate.open()
    #expect(try holding.receive()["ok"]?.bool == true)
    #expect(daemon.waitForEnd() == 0)
    let said = daemon.manager.drain().flatMap(\.lines)
    #expect(!said.contains { $0.hasPrefix("RELOADING=") || $0.hasPrefix("READY=") })
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a second signal ends it at once, with a line for each client`(second: CInt) throws {
    defer { origin.stop() }
    defer { gate.open() }
    let clients = [try waiting("a"), try waiting("b"), try waiting("c")]
    daemon.signal(SIGTERM)
    #expect(daemon.manager.receive(with: "STOPPING=1") != nil)
    daemon.signal(second)
    for (client, id) in zip(clients, ["a", "b", "c"]) {
      let line = try client.receive()
      #expect(line["id"]?.string == id)
      #expect(line["ok"]?.bool == false)
      #expect(line["error"]?["code"]?.string == "shutting_down")
      #expect(try client.isClosedByDaemon())
    }
    #expect(daemon.waitForEnd() == 0)
  }
}
