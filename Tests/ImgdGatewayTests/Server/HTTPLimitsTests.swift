import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

struct HTTPLimitsTests {
  @Test func aLongTargetFits() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    let target = "/fetch?url=" + String(repeating: "%41", count: 8_192)
    let fields = (0..<20).map { "X-Field-\($0): \(String(repeating: "v", count: 60))\r\n" }.joined()
    client.send("GET \(target) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
    #expect(try client.answer().body == target)
    #expect(stage.exchanges[0].target.utf8.count == target.utf8.count)
  }

  @Test func aLongerTargetDoesNot() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET /" + String(repeating: "a", count: 40_000) + " HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.all().hasPrefix("HTTP/1.1 414 "))
  }

  @Test(arguments: [
    "A: " + String(repeating: "a", count: 40_000) + "\r\n",
    String(repeating: "A: b\r\n", count: 6_000),
  ])
  func hugeFieldsDoNotFit(_ fields: String) throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n")
    #expect(try client.all().hasPrefix("HTTP/1.1 431 "))
    #expect(stage.exchanges.isEmpty)
  }

  @Test func manyParametersDoNoHarm() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET /?" + String(repeating: "&a=b", count: 5_000) + " HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.answer().status == 200)
  }

  @Test func connectionsBeyondTheLimitWait() throws {
    var limits = HTTPLimits()
    limits.connections = 2
    let stage = try ServerStage.echo(.unix, limits)
    let first = try stage.connect()
    let second = try stage.connect()
    let third = try stage.connect()
    for client in [first, second, third] { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    _ = try first.answer()
    _ = try second.answer()
    stage.loop.settle()
    #expect(third.received.isEmpty)
    #expect(stage.server.counters.accepted == 2)
    first.close()
    #expect(try third.answer().status == 200)
    #expect(stage.server.counters.connections == 2)
  }

  @Test func aThousandConnections() throws {
    let stage = try ServerStage()
    let clients = try (0..<1_000).map { _ in
      let client = try stage.connect()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      return client
    }
    try stage.wait { stage.exchanges.count == 1_000 }
    #expect(stage.server.counters.connections == 1_000)
    for exchange in stage.exchanges { exchange.answer(.text("x")) }
    for client in clients { #expect(try client.answer().body == "x") }
    for client in clients { client.close() }
    try stage.wait { stage.server.counters.connections == 0 }
  }

  @Test func aHeadThatComesSlowlyIsNotWaitedFor() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nA: ")
    for _ in 0..<5 {
      stage.advance(.seconds(5))
      client.send("a")
      #expect(try !client.isClosed())
    }
    stage.advance(.seconds(5))
    #expect(try client.all().isEmpty)
    try stage.wait { stage.server.counters.connections == 0 }
    #expect(stage.server.counters.malformed == 1)
  }

  @Test func silenceIsNotWaitedFor() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    try stage.wait { stage.server.counters.connections == 1 }
    stage.advance(.seconds(31))
    #expect(try client.all().isEmpty)
  }

  @Test func theNextHeadHasTheTimeOfSilenceInAddition() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    stage.advance(.seconds(20))
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try client.answer()
    stage.advance(.seconds(59))
    client.send("GET / HTTP/1.1\r\n")
    #expect(try !client.isClosed())
    stage.advance(.seconds(2))
    #expect(try client.all().isEmpty)
  }

  @Test func aReaderThatIsSlowHasTimeForSoManyBytes() throws {
    let stage = try ServerStage()
    let bytes = [UInt8](repeating: 65, count: 1 << 20)
    var ends = 0
    stage.onRequest = {
      $0.onEnd = { ends += 1 }
      $0.answer(HTTPResponse(status: 200, fields: [], body: .bytes(bytes)))
    }
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    try client.wait(for: "200 OK")
    stage.advance(.seconds(30 + 256 - 1))
    #expect(try !client.isClosed())
    #expect(ends == 0)
    stage.advance(.seconds(2))
    try stage.wait { stage.server.counters.connections == 0 }
    #expect(ends == 1)
    #expect(try client.all().utf8.count < bytes.count)
  }

  @Test func aRequestThatWaitsForItsAnswerHasTime() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    try stage.wait { !stage.exchanges.isEmpty }
    stage.advance(.seconds(300))
    stage.exchanges[0].answer(.text("x"))
    #expect(try client.answer().body == "x")
  }
}
