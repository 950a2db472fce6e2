import Glibc
import ImgdTestSupport
import Testing

/// The lines that other tests stand on.
@Suite("A line of a test") struct LineTests {
  @Test(
    .enabled(
      if: PrivateNetwork.obstacle == nil, Comment(rawValue: PrivateNetwork.obstacle ?? "")))
  func `takes its time`() throws {
    let (home, away) = (try PrivateNetwork(), try PrivateNetwork())
    let server = try RedisServer(
      ["--bind", "0.0.0.0", "--port", "6379", "--protected-mode", "no"], in: home)
    let line = try PoorLine(
      number: 1, from: home, to: away, delay: .milliseconds(50), lossPercent: 0, seed: 1)
    let words = away.wrapper + ["/usr/bin/redis-cli", "-h", PoorLine.near, "PING"]
    let begun = ContinuousClock.now
    #expect(try ChildProcess.run(words[0], Array(words.dropFirst())) == (0, "PONG\n"))
    // To connect and to ask are two ways there and back.
    #expect(ContinuousClock.now - begun >= .milliseconds(200))
    withExtendedLifetime((line, server)) {}
  }

  @Test func `is cut and mended`() throws {
    let redis = try RedisServer()
    let relay = try SocketRelay(to: redis.socket, at: redis.directory + "/relay")
    let conversation = try RedisConversation(path: relay.socket)
    let ping = [Array("PING".utf8)]
    #expect(try conversation.answer(to: ping) == .word("PONG"))
    relay.cut()
    #expect(throws: (any Error).self) { try conversation.answer(to: ping) }
    #expect(throws: (any Error).self) {
      try RedisConversation(path: relay.socket).answer(to: ping)
    }
    relay.mend()
    #expect(try RedisConversation(path: relay.socket).answer(to: ping) == .word("PONG"))
  }
}
