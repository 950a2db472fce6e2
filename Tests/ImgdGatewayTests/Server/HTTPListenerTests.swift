import Glibc
import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

struct HTTPListenerTests {
  @Test(arguments: ["0.0.0.0", "192.0.2.1", "::", "::ffff:127.0.0.1", "localhost", "", "127.1"])
  func otherAddressesAreRefused(_ address: String) {
    #expect(throws: ListenProblem.self) { try HTTPListener(address: address, port: 0) }
  }

  @Test func anyAddressOfThisMachineAlone() throws {
    let listener = try HTTPListener(address: "127.1.2.3", port: 0)
    #expect(listener.peer == .loopback)
    #expect(listener.port! > 0)
  }

  @Test func aPathIsServedUnderALock() throws {
    let directory = TemporaryDirectory()
    let listener = try HTTPListener(path: directory.path + "/http.sock")
    #expect(listener.peer == .unix)
    #expect(listener.port == nil)
    #expect(throws: ListenProblem.self) { try HTTPListener(path: directory.path + "/http.sock") }
  }

  @Test func aSocketOfTheServiceManager() throws {
    let made = try LoopbackListener(address: "127.0.0.1", port: 0)
    let listener = try HTTPListener(adopting: dup(made.socket.number))
    #expect(listener.peer == .loopback)
    #expect(listener.port == made.port)
    let directory = TemporaryDirectory()
    let unix = try UnixListener(path: directory.path + "/s")
    #expect(try HTTPListener(adopting: dup(unix.number)).peer == .unix)
  }

  @Test func aSocketThatOthersCanReachIsRefused() throws {
    let number = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(number) }
    #expect(listen(number, 1) == 0)
    #expect(throws: ListenProblem.self) { try HTTPListener(adopting: number) }
    let idle = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(idle) }
    #expect(throws: ListenProblem.self) { try HTTPListener(adopting: idle) }
  }

  @Test func withoutDescriptorsConnectionsAreRefusedAndTheLoopRests() async {
    await #expect(processExitsWith: .success) {
      let stage = try ServerStage.echo()
      let client = try stage.connect()
      let numbers = try (0..<3).map { _ in try stage.connect() }
      var limit = rlimit(rlim_cur: 64, rlim_max: 256)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      while dup(0) >= 0 {}
      for refused in 1...4 {
        // On a busy machine the kernel tells of a connection a moment after its client.
        while stage.server.counters.refused < refused { _ = stage.loop.tick(waiting: true) }
        precondition(stage.server.counters.refused == refused, "one is refused")
        precondition(!stage.loop.tick(waiting: false), "then the loop rests")
        stage.advance(.milliseconds(100))
      }
      precondition(stage.server.counters.refused == 4, "all are refused")
      for client in numbers + [client] {
        let isClosed = try client.isClosed()
        precondition(isClosed, "a connection that is refused is closed")
      }
      limit.rlim_cur = 200
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let next = try stage.connect()
      next.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let status = try next.answer().status
      precondition(status == 200, "the next one is served")
    }
  }
}
