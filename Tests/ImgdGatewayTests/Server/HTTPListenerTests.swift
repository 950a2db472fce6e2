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
    #expect(try listener.makePlace().peer == .loopback)
    #expect(listener.port! > 0)
  }

  @Test func aPathIsServedUnderALock() throws {
    let directory = TemporaryDirectory()
    let listener = try HTTPListener(path: directory.path + "/http.sock")
    #expect(try listener.makePlace().peer == .unix)
    #expect(listener.port == nil)
    #expect(throws: ListenProblem.self) { try HTTPListener(path: directory.path + "/http.sock") }
  }

  @Test func aSocketOfTheServiceManager() throws {
    let made = try LoopbackListener(address: "127.0.0.1", port: 0)
    let listener = try HTTPListener(adopting: dup(made.socket.number))
    #expect(try listener.makePlace().peer == .loopback)
    #expect(listener.port == made.port)
    let directory = TemporaryDirectory()
    let unix = try UnixListener(path: directory.path + "/s")
    #expect(try HTTPListener(adopting: dup(unix.number)).makePlace().peer == .unix)
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

  @Test func aStartThatFailsLeavesNothingBehind() async {
    await #expect(processExitsWith: .success) {
      func epolls() -> Set<String> {
        Set(TemporaryDirectory.names(in: "/proc/self/fd")).filter { name in
          var target = [CChar](repeating: 0, count: 64)
          let length = readlink("/proc/self/fd/" + name, &target, target.count)
          let bytes = target.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }
          return String(decoding: bytes, as: UTF8.self) == "anon_inode:[eventpoll]"
        }
      }
      let place = try HTTPListener(address: "127.0.0.1", port: 0).makePlace()
      let before = epolls()
      let loop = try EventLoop()
      // A loop without its descriptor can watch nothing.
      for name in epolls().subtracting(before) { close(CInt(name) ?? -1) }
      #expect(throws: SystemFailure.self) {
        try HTTPServer(on: loop, at: place, limits: HTTPLimits()) { _ in }
      }
      precondition(epolls() == before, "the library is stopped")
    }
  }

  @Test(arguments: [false, true])
  func withoutDescriptorsClientsWaitAndTheLoopRests(isAlone: Bool) async {
    await #expect(processExitsWith: .success) { [isAlone] in
      let stage = try ServerStage.echo()
      let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
      let served = try isAlone ? nil : stage.connect()
      try stage.wait { stage.server.counters.connections == (isAlone ? 0 : 1) }
      let clients = try (0..<3).map { _ in try stage.connect() }
      var limit = rlimit(rlim_cur: 64, rlim_max: 256)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      while dup(0) >= 0 {}
      for client in clients { client.sendUnseen(request) }
      // It would go on for ever if the loop did not rest.
      for _ in 0..<3 { stage.advance(.milliseconds(100)) }
      precondition(clients.allSatisfy { $0.received.isEmpty }, "nobody is answered")
      limit.rlim_cur = 200
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      served?.close()
      stage.advance(.milliseconds(100))
      for client in clients {
        let status = try client.answer().status
        precondition(status == 200, "who has waited is served")
      }
    }
  }
}
