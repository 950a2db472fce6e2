import ImgdTestSupport
import Testing

@Suite(.eachServer) struct RedisServerTests {
  /// Is skipped, and named, for a program that is not there: the tests with a server are not performed with it then.
  @Test(.enabled(if: RedisProgram.valkey.isInstalled, "there is no /usr/bin/valkey-server"))
  func `valkey is tested as well`() throws {
    try RedisProgram.$current.withValue(.valkey) {
      let server = try RedisServer()
      let facts = try server.command("INFO", "server").text ?? ""
      #expect(facts.contains("server_name:valkey"))
    }
  }

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
    #expect(throws: TestFailure.self) { try conversation.next(within: .zero) }
    server.thaw()
    #expect(try conversation.next() == .word("PONG"))
  }
}
