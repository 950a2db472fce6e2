import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

struct HTTPClosingTests {
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
    // The socket is a manager's: who comes now waits there for the next process.
    let next = try stage.connect()
    next.send(Self.request)
    #expect(stage.server.counters.accepted == 1)
  }

  @Test func whoIsAnsweredBeforeTheEndIsToldSo() throws {
    let stage = try ServerStage.echo()
    let (old, new) = (try stage.connect(), try stage.connect())
    old.send(Self.request)
    #expect(try !old.answer().head.contains("Connection: close"))
    stage.server.leave()
    for client in [old, new] {
      client.send(Self.request)
      let answer = try client.answer()
      #expect(answer.status == 200 && answer.head.contains("Connection: close"))
      #expect(try client.all().isEmpty, "its connection ends")
    }
    #expect(stage.server.counters.accepted == 2)
  }

  @Test func aRequestOnItsWayIsAnsweredWhereOthersHaveBeenToldToLeave() throws {
    let stage = try ServerStage.echo()
    let (late, silent) = (try stage.connect(), try stage.connect())
    late.send("GET / HTTP/1.1\r\n")
    try stage.wait { stage.server.counters.connections == 2 }
    stage.server.leave()
    var isClosed = false
    stage.server.close { isClosed = true }
    stage.advance(.milliseconds(400))
    late.send("Host: h\r\n\r\n")
    #expect(try late.answer().status == 200)
    #expect(!isClosed)
    stage.advance(.milliseconds(200))
    #expect(try silent.all().isEmpty)
    try stage.wait { isClosed }
  }

  @Test func whoWaitsInTheQueueIsAnsweredWhereOthersHaveBeenToldToLeave() throws {
    let stage = try ServerStage.echo()
    stage.server.leave()
    let waiting = try (0..<20).map { _ in try stage.connect() }
    #expect(stage.server.counters.accepted == 0)
    var isClosed = false
    stage.server.close { isClosed = true }
    #expect(stage.server.counters.accepted == 20)
    for client in waiting {
      client.send(Self.request)
      #expect(try client.answer().status == 200)
    }
    try stage.wait { isClosed }
  }

  @Test func whoStillWaitsIsToldSoInTheEnd() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send(Self.request)
    try stage.wait { stage.exchanges.count == 1 }
    var (isClosed, hasLeft) = (false, false)
    stage.exchanges[0].onLeave = { hasLeft = true }
    stage.server.close { isClosed = true }
    stage.advance(.seconds(4))
    #expect(!isClosed && !hasLeft)
    stage.advance(.seconds(1))
    let answer = try client.answer()
    #expect(answer.status == 503 && answer.body.contains("shutting_down") && hasLeft)
    // Who had the request may not know it yet.
    stage.exchanges[0].answer(HTTPResponse(status: 200, fields: [], body: .bytes([])))
    stage.advance(.milliseconds(250))
    #expect(isClosed && stage.server.counters.left == 0)
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

  @Test func streamsAreEndedAtOnce() throws {
    let stage = try ServerStage()
    let stream = HTTPStream()
    let late = HTTPStream()
    stage.onRequest = { $0.answer(.stream(stream)) }
    let client = try stage.connect()
    client.send(Self.request)
    try client.wait(for: "200 OK")
    stage.onRequest = { _ in }
    let other = try stage.connect()
    other.send(Self.request)
    try stage.wait { stage.exchanges.count == 2 }
    var isClosed = false
    stage.server.close { isClosed = true }
    stage.exchanges[1].answer(.stream(late))
    #expect(try client.all().hasSuffix("\r\n\r\n0\r\n\r\n"))
    #expect(try other.all().hasSuffix("\r\n\r\n0\r\n\r\n"))
    try stage.wait { isClosed }
  }

  @Test func requestsThatHaveNotComeWholeAreNot() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: ")
    var isClosed = false
    stage.server.close { isClosed = true }
    #expect(try client.all().isEmpty)
    try stage.wait { isClosed }
    #expect(stage.server.counters.malformed == 1)
  }

  @Test func requestsThatComeWholeOnlyNowAreNot() throws {
    let stage = try ServerStage()
    let idle = try stage.connect()
    try stage.wait { stage.server.counters.connections == 1 }
    let begun = try stage.connect()
    begun.send("GET / HTTP/1.1\r\nHost: ")
    idle.sendUnseen(Self.request)
    begun.sendUnseen("h\r\n\r\n")
    var isClosed = false
    stage.server.close { isClosed = true }
    #expect(try idle.all().isEmpty)
    #expect(try begun.all().isEmpty)
    try stage.wait { isClosed }
    #expect(stage.exchanges.isEmpty)
  }

  @Test func requestsBehindTheLastAnswerAreNot() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send(Self.request + Self.request)
    try stage.wait { stage.exchanges.count == 1 }
    var isClosed = false
    stage.server.close { isClosed = true }
    stage.exchanges[0].answer(.text("x"))
    #expect(try client.all().hasSuffix("x"))
    try stage.wait { isClosed }
    #expect(stage.exchanges.count == 1)
  }

  @Test func aServerThatIsFreedTakesNothingMore() async {
    await #expect(processExitsWith: .success) {
      let stage = try ServerStage()
      let client = try stage.connect()
      client.send("GET / HTTP/1.1\r\nHost: ")
      client.sendUnseen("h\r\n\r\n")
      stage.forgetServer()
      let text = try client.all()
      precondition(text.isEmpty && stage.exchanges.isEmpty, "it is not handed out")
    }
  }

  @Test func aServerThatIsFreedEndsStreamsThatHaveMore() async {
    await #expect(processExitsWith: .success) {
      let stage = try ServerStage()
      let client = try stage.connect()
      client.send(HTTPClosingTests.request)
      let stream = HTTPStream()
      var ends = 0
      stream.onEnd = { ends += 1 }
      stage.exchanges[0].answer(.stream(stream))
      try client.wait(for: "200 OK")
      stream.write(Array("more".utf8))
      stage.forgetServer()
      precondition(ends == 1, "it ends")
    }
  }

  @Test func aServerThatIsFreedEndsStreamsThatHaveNotBegun() async {
    await #expect(processExitsWith: .success) {
      let stage = try ServerStage()
      let client = try stage.connect()
      client.send(HTTPClosingTests.request)
      let stream = HTTPStream()
      var ends = 0
      stream.onEnd = { ends += 1 }
      stage.exchanges[0].answer(.stream(stream))
      stage.forgetServer()
      precondition(ends == 1, "it ends")
    }
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
