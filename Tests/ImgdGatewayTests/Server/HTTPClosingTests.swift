import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

@Suite struct HTTPClosingTests {
  private static let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test func idleConnectionsAreClosedAtOnce() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send(Self.request)
    _ = try client.answer()
    var isClosed = false
    stage.server.close { isClosed = true }
    #expect(try client.all().isEmpty)
    try stage.wait { isClosed }
    #expect(throws: (any Error).self) { try stage.connect() }
  }

  @Test func answersUnderWayAreSent() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send(Self.request)
    try stage.wait { stage.exchanges.count == 1 }
    var isClosed = false
    stage.server.close { isClosed = true }
    stage.loop.settle()
    #expect(!isClosed)
    stage.exchanges[0].answer(.text("x"))
    #expect(try client.all().hasSuffix("x"))
    try stage.wait { isClosed }
  }

  @Test func theyAreNotWaitedForLong() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    let stream = HTTPStream()
    var ends = 0
    stream.onEnd = { ends += 1 }
    client.send(Self.request)
    try stage.wait { stage.exchanges.count == 1 }
    var left = 0
    stage.exchanges[0].onLeave = { left += 1 }
    stage.onRequest = { $0.answer(HTTPResponse(status: 200, fields: [], body: .stream(stream))) }
    let reader = try stage.connect()
    reader.send(Self.request)
    try reader.wait(for: "200 OK")
    var isClosed = false
    stage.server.close { isClosed = true }
    stage.advance(.seconds(4))
    #expect(!isClosed)
    stage.advance(.seconds(2))
    #expect(isClosed)
    #expect(left == 1)
    #expect(ends == 1)
    #expect(try client.all().isEmpty)
    stage.exchanges[0].answer(.text("too late"))
  }

  @Test func aServerThatIsFreedLeavesNothing() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send(Self.request)
    try stage.wait { stage.exchanges.count == 1 }
    stage.forgetServer()
    #expect(try client.all().isEmpty)
    stage.exchanges[0].answer(.text("too late"))
    #expect(stage.exchanges[0].fields("Host") == [])
  }
}
