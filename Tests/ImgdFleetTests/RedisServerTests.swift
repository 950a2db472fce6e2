import ImgdTestSupport
import Testing

struct RedisServerTests {
  @Test func `a server answers, and forgets all when it is started again`() throws {
    let server = try RedisServer()
    #expect(try server.command("SET", "a", "1") == .word("OK"))
    #expect(try server.command("GET", "a").text == "1")
    #expect(try server.command("LRANGE", "b", "0", "-1") == .list([]))
    #expect(try server.command("NONSENSE").text == nil)
    try server.restartEmpty()
    #expect(try server.command("GET", "a") == .nothing)
    #expect(try server.command("INCR", "a") == .number(1))
  }

  @Test func `a server that is stopped answers when it goes on`() throws {
    let server = try RedisServer()
    let conversation = try RedisConversation(path: server.socket)
    server.freeze()
    try conversation.send([Array("PING".utf8)])
    #expect(throws: TestFailure.self) { try conversation.next(seconds: 0) }
    server.thaw()
    #expect(try conversation.next() == .word("PONG"))
  }
}
