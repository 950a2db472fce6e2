import Glibc
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

  @Test func `a server that is started again has its port, which nobody else could take meanwhile`() throws {
    let server = try RedisServer(onPort: true)
    let port = try #require(server.port)
    server.kill()
    #expect(!isFree(port))
    try server.start()
    #expect(!isFree(port))
  }

  private func isFree(_ port: Int) -> Bool {
    let number = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(number) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
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
