import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdGateway

struct HTTPListenerTests {
  @Test(arguments: ["0.0.0.0", "192.0.2.1", "::", "::ffff:127.0.0.1", "localhost", "", "127.1"])
  func otherAddressesAreRefused(_ address: String) {
    #expect(throws: ListenProblem.self) { try HTTPListener(address: address, port: 0) }
  }

  @Test func anyAddressOfThisMachineAlone() throws {
    let listener = try HTTPListener(address: "127.1.2.3", port: 0)
    #expect(try listener.makePlace().peers == .loopback)
    #expect(listener.port! > 0)
  }

  @Test(arguments: [("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1"), ("::", "::1")])
  func exposedItTellsProgramsOfThisMachineFromOthers(address: String, own: String) throws {
    let listener = try HTTPListener(address: address, port: 0, mayBeExposed: true)
    #expect(try listener.makePlace().peers == .network)
    let client = try Self.connection(to: own, listener.port!)
    defer { close(client) }
    #expect(try HTTPPeer(of: Self.accepted(by: listener), at: .network) == .loopback)
    // The address by which others know this machine, if it has one.
    guard let (address, key) = Self.outerAddress() else { return }
    let stranger = try Self.connection(to: address, listener.port!)
    defer { close(stranger) }
    #expect(try HTTPPeer(of: Self.accepted(by: listener), at: .network) == .network(key))
  }

  @Test func aClientThatHasGoneIsNoneOfThisMachine() {
    #expect(HTTPPeer(of: -1, at: .network) == .network(.unknown))
  }

  private static func connection(to address: String, _ port: Int) throws -> CInt {
    var own = sockaddr_in()
    own.sin_family = sa_family_t(AF_INET)
    own.sin_port = in_port_t(UInt16(port).bigEndian)
    var own6 = sockaddr_in6()
    own6.sin6_family = sa_family_t(AF_INET6)
    own6.sin6_port = own.sin_port
    let isV4 = inet_pton(AF_INET, address, &own.sin_addr) == 1
    _ = inet_pton(AF_INET6, address, &own6.sin6_addr)
    let number = socket(isV4 ? AF_INET : AF_INET6, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    func join(_ pointer: UnsafeRawPointer, _ size: Int) -> CInt {
      connect(number, pointer.assumingMemoryBound(to: sockaddr.self), socklen_t(size))
    }
    let result =
      isV4 ? join(&own, MemoryLayout<sockaddr_in>.size) : join(&own6, MemoryLayout<sockaddr_in6>.size)
    try #require(result == 0, "connect: \(errno)")
    return number
  }

  private static func accepted(by listener: HTTPListener) throws -> CInt {
    var ready = pollfd(fd: listener.socket.number, events: Int16(POLLIN), revents: 0)
    try #require(poll(&ready, 1, Patience.milliseconds) == 1)
    return accept(ready.fd, nil, nil)
  }

  private static func outerAddress() -> (String, AddressKey)? {
    // Nothing is sent: the kernel looks up from which address it would be.
    let number = socket(AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(number) }
    var other = sockaddr_in()
    (other.sin_family, other.sin_port) = (sa_family_t(AF_INET), 9)
    other.sin_addr.s_addr = UInt32(0xC000_0201).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    func ask(_ call: (CInt, UnsafeMutablePointer<sockaddr>) -> CInt, _ pointer: UnsafeMutableRawPointer) -> CInt {
      call(number, pointer.assumingMemoryBound(to: sockaddr.self))
    }
    guard ask({ connect($0, $1, size) }, &other) == 0, ask({ getsockname($0, $1, &size) }, &other) == 0 else {
      return nil
    }
    let bits = UInt32(bigEndian: other.sin_addr.s_addr)
    guard bits >> 24 != 127, bits != 0 else { return nil }
    return (AddressKey.v4(bits).share, .v4(bits))
  }

  @Test func aPathIsServedUnderALock() throws {
    let directory = TemporaryDirectory()
    let listener = try HTTPListener(path: directory.path + "/http.sock")
    #expect(try listener.makePlace().peers == .unix)
    #expect(listener.port == nil)
    #expect(throws: ListenProblem.self) { try HTTPListener(path: directory.path + "/http.sock") }
  }

  @Test func aSocketOfTheServiceManager() throws {
    let made = try PortListener(address: "127.0.0.1", port: 0, mayBeExposed: false)
    let listener = try HTTPListener(adopting: dup(made.socket.number))
    #expect(try listener.makePlace().peers == .loopback)
    #expect(listener.port == made.port)
    let directory = TemporaryDirectory()
    let unix = try UnixListener(path: directory.path + "/s")
    #expect(try HTTPListener(adopting: dup(unix.number)).makePlace().peers == .unix)
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
