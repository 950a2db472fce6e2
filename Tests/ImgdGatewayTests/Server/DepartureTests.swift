import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

struct DepartureTests {
  private static let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  /// A stage with a request that waits, and the number of times that its client has left.
  private func waiting(_ peer: HTTPPeer) throws -> (ServerStage, RawClient, () -> Int) {
    let stage = try ServerStage(peer)
    let client = try stage.connect()
    var left = 0
    stage.onRequest = { $0.onLeave = { left += 1 } }
    client.send(Self.request)
    try stage.wait { stage.exchanges.count == 1 }
    stage.advance(.milliseconds(21))
    #expect(left == 0)
    return (stage, client, { left })
  }

  @Test(arguments: [HTTPPeer.unix, .loopback])
  func aClientThatLeavesIsNoticed(_ peer: HTTPPeer) throws {
    let (stage, client, left) = try waiting(peer)
    client.close()
    if peer == .loopback { stage.advance(.seconds(5)) }
    try stage.wait { stage.server.counters.connections == 0 }
    #expect(left() == 1)
    #expect(stage.server.counters.left == 1)
    stage.exchanges[0].answer(.text("too late"))
    stage.loop.settle()
    #expect(left() == 1)
  }

  @Test func aRequestEndsOnceItsClientHasLeft() throws {
    let (stage, client, left) = try waiting(.unix)
    var ends = 0
    stage.exchanges[0].onEnd = {
      #expect(left() == 1)
      ends += 1
    }
    client.close()
    try stage.wait { stage.server.counters.connections == 0 }
    stage.exchanges[0].answer(.text("too late"))
    stage.forgetServer()
    #expect(ends == 1)
  }

  @Test func aRequestEndsOnceItsAnswerIsSent() throws {
    let (stage, client, _) = try waiting(.unix)
    var ends = 0
    stage.exchanges[0].onEnd = { ends += 1 }
    stage.exchanges[0].answer(.text("x"))
    #expect(ends == 0)
    _ = try client.answer()
    #expect(ends == 1)
    stage.forgetServer()
    #expect(ends == 1)
  }

  @Test func aClientThatLeavesSoonIsNoticedAfterAMoment() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    var left = 0
    stage.onRequest = { $0.onLeave = { left += 1 } }
    client.send(Self.request)
    try stage.wait { stage.exchanges.count == 1 }
    client.close()
    stage.loop.settle()
    #expect(left == 0)
    stage.advance(.milliseconds(21))
    #expect(left == 1)
  }

  @Test func overAUnixSocketAClientMayEndSending() throws {
    let (stage, client, left) = try waiting(.unix)
    client.endSending()
    stage.advance(.seconds(1))
    #expect(left() == 0)
    stage.exchanges[0].answer(.text("x"))
    #expect(try client.answer().body == "x")
  }

  @Test func anAnswerReachesAClientThatHasJustEndedSending() throws {
    let (stage, client, left) = try waiting(.unix)
    client.endUnseen()
    stage.exchanges[0].answer(.text("x"))
    #expect(try client.answer().body == "x")
    #expect(left() == 0)
  }

  @Test func overTCPAClientThatEndsSendingHasTimeForItsAnswer() throws {
    let (stage, client, left) = try waiting(.loopback)
    client.endSending()
    stage.advance(.milliseconds(4_900))
    #expect(left() == 0)
    stage.exchanges[0].answer(.text("x"))
    #expect(try client.answer().body == "x")
    // Of the answer it is no departure any more.
    stage.advance(.seconds(1))
    #expect(left() == 0)
    #expect(stage.server.counters.left == 0)
  }

  @Test func overTCPAClientThatEndsSendingWithItsRequestHasThatTimeAsWell() throws {
    let stage = try ServerStage(.loopback)
    let client = try stage.connect()
    client.sendUnseen(Self.request)
    client.endUnseen()
    try stage.wait { stage.exchanges.count == 1 }
    stage.advance(.milliseconds(21))
    stage.advance(.seconds(4))
    stage.exchanges[0].answer(.text("x"))
    #expect(try client.answer().body == "x")
  }

  @Test func overTCPAClientThatEndsSendingHasLeftAfterThatTime() throws {
    let (stage, client, left) = try waiting(.loopback)
    client.endSending()
    stage.advance(.milliseconds(4_900))
    #expect(left() == 0)
    stage.advance(.milliseconds(200))
    try stage.wait { stage.server.counters.connections == 0 }
    #expect(left() == 1)
  }

  @Test func aClientWhoseConnectionIsResetHasLeftAtOnce() throws {
    let (stage, client, left) = try waiting(.loopback)
    client.reset()
    try stage.wait { stage.server.counters.connections == 0 }
    #expect(left() == 1)
  }

  @Test(arguments: [HTTPPeer.unix, .loopback])
  func requestsThatFollowMeanwhileAreKept(_ peer: HTTPPeer) throws {
    let (stage, client, left) = try waiting(peer)
    client.send(Self.request)
    stage.advance(.seconds(1))
    #expect(left() == 0)
    stage.onRequest = { $0.answer(.text("second")) }
    stage.exchanges[0].answer(.text("first"))
    #expect(try client.answers(2).map(\.body) == ["first", "second"])
  }

  @Test func aClientThatLeavesAfterItsAnswerIsNoMatter() throws {
    let (stage, client, left) = try waiting(.unix)
    stage.exchanges[0].answer(.text("x"))
    _ = try client.answer()
    client.close()
    try stage.wait { stage.server.counters.connections == 0 }
    #expect(left() == 0)
    #expect(stage.server.counters.left == 0)
  }
}
