import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Requests that the kernel has taken when the daemon is told to stop.
///
/// The daemon is stopped and continued as a process, so that they lie in their sockets, unread, when
/// it hears of its end.
struct LastRequestTests {
  private let origin: OriginServer
  private let daemon: DaemonProcess

  init() throws {
    origin = try OriginServer()
    origin.plan("/a.png", .picture(png()))
    daemon = try DaemonProcess()
  }

  private func request(_ id: Int) -> String {
    #"{"cmd":"fetch","id":\#(id),"url":"\#(origin.url("/a.png"))","deliver":"none"}"#
  }

  /// Lets the daemon go on, with its end as the first thing that it hears.
  private func endStopped() {
    daemon.signal(SIGTERM)
    daemon.signal(SIGCONT)
  }

  @Test func `each request that has arrived gets its line`() throws {
    defer { origin.stop() }
    let clients = try (0..<8).map { _ in try daemon.connect() }
    for client in clients { _ = try client.ask(#"{"cmd":"ping"}"#) }
    daemon.signal(SIGSTOP)
    for client in clients { try client.send(request(1), request(2), #"{"cmd":"ping","id":3}"#) }
    endStopped()
    for client in clients {
      let lines = try client.receive(3)
      #expect(Set(lines.map { $0["id"]?.integer }) == [1, 2, 3])
      #expect(try client.isClosedByDaemon())
    }
    #expect(daemon.waitForEnd() == 0)
  }

  @Test func `a client that nobody had accepted yet gets its lines`() throws {
    defer { origin.stop() }
    daemon.signal(SIGSTOP)
    let clients = try (0..<100).map { _ in try daemon.connect() }
    for client in clients { try client.send(request(1), request(2)) }
    endStopped()
    for client in clients {
      #expect(try client.receive(2).map { $0["id"]?.integer } == [1, 2])
      #expect(try client.isClosedByDaemon())
    }
    #expect(daemon.waitForEnd() == 0)
  }

  @Test func `half a request is refused as what came too late`() throws {
    defer { origin.stop() }
    let client = try daemon.connect()
    _ = try client.ask(#"{"cmd":"ping"}"#)
    daemon.signal(SIGSTOP)
    try client.send(request(1))
    try client.sendRaw(Array(#"{"cmd":"fet"#.utf8))
    endStopped()
    let lines = try client.receive(2)
    let last = lines.first { $0["id"] == nil }
    #expect(last?["error"]?["code"]?.string == "shutting_down")
    #expect(try client.isClosedByDaemon())
    #expect(daemon.waitForEnd() == 0)
  }

  /// What it is about to send would be lost, and the client could not tell whether it was.
  @Test func `a client that has sent nothing yet is told so`() throws {
    defer { origin.stop() }
    let talkative = try daemon.connect()
    _ = try talkative.ask(#"{"cmd":"ping"}"#)
    daemon.signal(SIGSTOP)
    let silent = try (0..<8).map { _ in try daemon.connect() }
    endStopped()
    for client in silent {
      #expect(try client.receive()["error"]?["code"]?.string == "shutting_down")
      #expect(try client.isClosedByDaemon())
    }
    #expect(try talkative.isClosedByDaemon(), "it has its answer")
    #expect(daemon.waitForEnd() == 0)
  }

  @Test func `one that has sent nothing is told so by an end at once`() throws {
    defer { origin.stop() }
    let gate = Gate()
    defer { gate.open() }
    origin.plan("/held.png", .held(at: gate, then: .picture(png())))
    let waiting = try daemon.connect()
    try waiting.send(#"{"cmd":"fetch","id":1,"url":"\#(origin.url("/held.png"))"}"#)
    #expect(gate.waitUntilReached())
    let silent = try daemon.connect()
    // Accepted: others that came later are served.
    _ = try daemon.connect().ask(#"{"cmd":"ping"}"#)
    daemon.signal(SIGTERM)
    daemon.signal(SIGINT)
    #expect(try waiting.receive()["error"]?["code"]?.string == "shutting_down")
    #expect(try silent.receive()["error"]?["code"]?.string == "shutting_down")
    #expect(try silent.isClosedByDaemon())
    #expect(daemon.waitForEnd() == 0)
  }

  @Test func `a subscriber does not hold up the end`() throws {
    defer { origin.stop() }
    let client = try daemon.connect()
    #expect(try client.ask(#"{"cmd":"subscribe","events":["jobs"]}"#)["ok"]?.bool == true)
    daemon.signal(SIGTERM)
    #expect(try client.isClosedByDaemon())
    #expect(daemon.waitForEnd() == 0)
  }
}
