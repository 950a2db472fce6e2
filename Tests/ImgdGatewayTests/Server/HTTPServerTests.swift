import Glibc
import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

struct HTTPServerTests {
  @Test(arguments: [HTTPPeer.unix, .loopback])
  func answersAtOnceAndLater(_ peer: HTTPPeer) throws {
    let stage = try ServerStage(peer)
    let client = try stage.connect()
    client.send("GET /one?a=%20b HTTP/1.1\r\nHost: h\r\n\r\n")
    try stage.wait { stage.exchanges.count == 1 }
    let exchange = stage.exchanges[0]
    #expect(exchange.target == "/one?a=%20b")
    #expect(exchange.method == .get)
    #expect(exchange.peer == peer)
    exchange.answer(.text("later"))
    #expect(try client.answer().body == "later")
    stage.onRequest = { $0.answer(.text("now")) }
    client.send("GET /two HTTP/1.1\r\nHost: h\r\n\r\n")
    let second = try client.answer()
    #expect(second.body == "now")
    #expect(second.field("Date") != nil)
    #expect(second.field("X-Test") == "yes")
    #expect(stage.server.counters.requests == 2)
    #expect(stage.server.counters.answers == [0, 2, 0, 0, 0])
    #expect(stage.server.counters.connections == 1)
  }

  @Test func pipelinedRequestsAreAnsweredInOrder() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    let targets = (0..<20).map { "/\($0)" }
    client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
    for (index, target) in targets.enumerated() {
      try stage.wait { stage.exchanges.count == index + 1 }
      #expect(stage.exchanges[index].target == target)
      if index % 3 == 0 { stage.loop.settle() }
      stage.exchanges[index].answer(.text(target))
    }
    #expect(try client.answers(20).map(\.body) == targets)
  }

  @Test func pipelinedRequestsThatAreAnsweredAtOnce() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    let targets = (0..<200).map { "/\($0)" }
    client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
    #expect(try client.answers(200).map(\.body) == targets)
  }

  @Test func aHeadHasTheLengthAndNoBody() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("HEAD /four HTTP/1.1\r\nHost: h\r\n\r\n")
    try client.wait(for: "\r\n\r\n")
    #expect(client.text.contains("Content-Length: 5\r\n"))
    #expect(client.text.hasSuffix("\r\n\r\n"))
  }

  @Test(arguments: [204, 304])
  func answersWithoutBody(_ status: Int) throws {
    let stage = try ServerStage()
    stage.onRequest = {
      $0.answer(HTTPResponse(status: status, fields: [("ETag", "\"a\"")], body: .length(7)))
    }
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let answers = try client.answers(2)
    #expect(answers.map(\.status) == [status, status])
    #expect(answers[0].field("Content-Length") == (status == 304 ? "7" : nil))
    #expect(answers[0].field("Content-Type") == nil)
    #expect(answers[0].field("ETag") == "\"a\"")
  }

  @Test func oldClientsAreToldThatItEnds() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET /old HTTP/1.0\r\n\r\n")
    let text = try client.all()
    #expect(text.contains("Connection: close"))
    #expect(text.hasSuffix("/old"))
  }

  @Test func oldClientsMayAskForMore() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    let request = "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    client.send(request)
    #expect(try client.answer().field("Connection") == "Keep-Alive")
    client.send(request)
    #expect(try client.answer().body == "/old")
  }

  @Test func aClientMayAskToClose() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    #expect(try client.all().hasSuffix("/x"))
  }

  @Test func anAbsoluteTargetIsItsPath() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET HTTP://Host:80/path?x HTTP/1.1\r\nHost: host:80\r\n\r\n")
    #expect(try client.answer().body == "/path?x")
    client.send("GET http://host?x HTTP/1.1\r\nHost: host\r\n\r\n")
    #expect(try client.answer().body == "/?x")
  }

  @Test func otherMethods() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.answer().body == "*")
    client.send("POST /purge HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
    _ = try client.answer()
    client.send("get / HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try client.answer()
    #expect(stage.exchanges.map(\.method) == [.options, .post, .other])
  }

  @Test func expectingToContinueIsHarmless() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n")
    try client.wait(for: "/e")
    #expect(client.text.contains("HTTP/1.1 200 OK"))
  }

  @Test func fieldsInAnyCaseAndInOrder() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nAccept: a/b \r\nX-A: 1\r\naccept:c\r\nEmpty:\r\n\r\n")
    try stage.wait { !stage.exchanges.isEmpty }
    let exchange = stage.exchanges[0]
    #expect(exchange.fields("ACCEPT") == ["a/b", "c"])
    #expect(exchange.fields("empty") == [""])
    #expect(exchange.fields("x-b") == [])
    exchange.answer(.text(""))
    _ = try client.answer()
    #expect(exchange.fields("accept") == [], "the request is over")
  }

  /// What is sent again, is sealed and ends early is sent from memory.
  @Test(arguments: [HTTPPeer.unix, .loopback], [(60_000, false), (60_000, true), (70_000, true)])
  func partsOfAFileForManyRequests(_ peer: HTTPPeer, _ kind: (count: Int, isSealed: Bool)) throws {
    let directory = TemporaryDirectory()
    let bytes = Array((0..<kind.count).map { "\($0 % 10)" }.joined().utf8)
    let file =
      try kind.isSealed ? Payload(bytes).shareable().openReadOnly() : file(bytes, in: directory)
    let response = HTTPResponse(status: 206, fields: [], body: .file(5..<kind.count - 5), of: file)
    response.isSentAgain = true
    let stage = try ServerStage(peer)
    stage.onRequest = { $0.answer(response) }
    for _ in 0..<3 {
      let client = try stage.connect()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
      for answer in try client.answers(2) {
        #expect(Array(answer.body.utf8) == Array(bytes[5..<kind.count - 5]))
      }
    }
  }

  @Test func `a field gets another value for those who are answered from then on`() throws {
    let response = HTTPResponse(
      status: 200, fields: [("Age", "1"), ("ETag", "\"a\"")], body: .bytes([]))
    let stage = try ServerStage()
    stage.onRequest = { $0.answer(response) }
    let client = try stage.connect()
    for age in ["1", "2", "3"] {
      response.replace("Age", by: age)
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let answer = try client.answer()
      #expect(answer.field("Age") == age && answer.field("ETag") == "\"a\"")
    }
  }

  @Test func aFieldCannotEndItsLine() throws {
    let stage = try ServerStage()
    stage.onRequest = {
      $0.answer(
        HTTPResponse(status: 200, fields: [("A", "b\r\nC: d"), ("E", "f")], body: .bytes([])))
    }
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let answer = try client.answer()
    #expect(answer.field("C") == nil)
    #expect(answer.field("E") == "f")
  }

  private func file(_ bytes: [UInt8], in directory: TemporaryDirectory) throws -> FileDescriptor {
    let number = open(directory.path + "/file", O_RDWR | O_CREAT, 0o600)
    guard number >= 0, write(number, bytes, bytes.count) == bytes.count else {
      throw TestFailure("no file")
    }
    return FileDescriptor(owning: number)
  }
}
