import ImgdTestSupport
import ImgdWire
import Testing

/// A client that closes its sending side gets all its answers, and then the core closes.
struct HalfCloseTests {
  private let stage: CoreStage

  init() throws { stage = try CoreStage("Disk.Enabled=no") }

  private func fetch(_ path: String, _ more: String = "") -> String {
    #"{"cmd":"fetch","url":"\#(stage.base)\#(path)"\#(more)}"#
  }

  @Test func `a half-closed connection without pending requests closes at once`() throws {
    stage.client.halfClose()
    #expect(try stage.client.isClosedByDaemon())
  }

  @Test func `a half-closed connection closes after the last answer`() throws {
    try stage.client.send(#"{"cmd":"ping","id":1}"#, #"{"cmd":"ping","id":2}"#)
    stage.client.halfClose()
    #expect(try stage.client.receive(2).map { $0["id"]?.integer } == [1, 2])
    #expect(try stage.client.isClosedByDaemon())
  }

  @Test func `a half-closed connection gets four spaces a second while requests are pending`()
    throws
  {
    let gate = Gate()
    stage.origin.plan("/slow.png", .held(at: gate, then: .picture(png())))
    try stage.client.send(fetch("/slow.png"))
    stage.client.halfClose()
    stage.settle()
    stage.pass(.milliseconds(249))
    #expect(throws: TestFailure.self) { try stage.client.receiveRaw() }
    stage.pass(.milliseconds(1))
    #expect(try stage.client.receiveRaw() == Array(" ".utf8))
    stage.pass(.seconds(2))
    #expect(try stage.client.receiveRaw() == Array("        ".utf8))
    gate.open()
    #expect(try stage.client.receive()["ok"] == .bool(true))
    #expect(try stage.client.isClosedByDaemon())
  }

  @Test func `an open connection gets no spaces`() throws {
    stage.origin.plan("/hangs.png", .silence)
    try stage.client.send(fetch("/hangs.png"))
    stage.pass(.seconds(10))
    #expect(stage.origin.running == 1)
    #expect(throws: TestFailure.self) { try stage.client.receiveRaw() }
  }

  @Test func `a half-closed connection that waits for a receipt is answered before it closes`()
    throws
  {
    let gate = Gate()
    stage.origin.plan("/later.png", .held(at: gate, then: .picture(png())))
    let accepted = try stage.client.ask(fetch("/later.png", #","wait":false"#))
    let receipt = try #require(accepted["receipt"]?.string)
    let collector = try stage.connect()
    try collector.send(#"{"cmd":"wait","receipt":"\#(receipt)"}"#)
    collector.halfClose()
    stage.settle()
    gate.open()
    #expect(try collector.receive()["ok"] == .bool(true))
    #expect(try collector.isClosedByDaemon())
  }

  @Test func `a half-closed subscriber still gets events`() throws {
    let subscriber = try stage.connect()
    try subscriber.send(#"{"cmd":"subscribe","events":["jobs"]}"#)
    subscriber.halfClose()
    #expect(try subscriber.receive()["ok"] == .bool(true))
    #expect(try stage.ask("/none")["ok"] == .bool(false))
    #expect(try subscriber.receive()["event"] == .string("job"))
  }

  @Test func `a full close cancels fetches that are not detached`() throws {
    stage.origin.plan("/own.png", .silence)
    stage.origin.plan("/detached.png", .silence)
    var client: TestClient? = try stage.connect()
    try client?.send(fetch("/own.png"), fetch("/detached.png", #","detach":true"#))
    stage.settle()
    #expect(stage.origin.running == 2)
    client = nil
    stage.settle()
    #expect(stage.origin.running == 1 && stage.origin.aborted == 1)
    #expect(try stage.stats("downloads", "active") == 1)
    #expect(try stage.client.ask(#"{"cmd":"cancel","all":true}"#)["cancelled"] == .integer(1))
    #expect(stage.origin.running == 0)
  }

  @Test func `a full close after a half close cancels too`() throws {
    stage.origin.plan("/own.png", .silence)
    var client: TestClient? = try stage.connect()
    try client?.send(fetch("/own.png"))
    client?.halfClose()
    stage.settle()
    #expect(stage.origin.running == 1)
    client = nil
    stage.settle()
    #expect(stage.origin.running == 0 && stage.origin.aborted == 1)
    #expect(stage.connected == 1)
  }

  @Test func `the last line before a close is read`() throws {
    stage.origin.plan("/a.png", .picture(png()))
    stage.origin.plan("/hangs.png", .silence)
    #expect(try stage.outcome("/a.png") == "network")
    let running = try stage.client.ask(fetch("/hangs.png", #","wait":false"#))
    let receipt = try #require(running["receipt"]?.string)
    for line in [#"{"cmd":"purge"}"#, #"{"cmd":"cancel","receipt":"\#(receipt)"}"#] {
      try stage.connect().send(line)
    }
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try stage.stats("downloads", "active") == 0)
  }

  @Test func `many lines before a close are read to their end`() throws {
    let before = try stage.stats("clients", "commands")
    // More than one read brings, from a client that is gone before the first answer.
    let padding = String(repeating: "x", count: 200)
    let line = #"{"cmd":"ping","x_padding":"\#(padding)"}"#
    try stage.connect().send((0..<700).map { _ in line }.joined(separator: "\n"))
    #expect(try stage.stats("clients", "commands") == before + 701)
    #expect(stage.connected <= 2)
  }
}
