import Glibc

/// The socket calls of the origin, all blocking.
enum OriginSocket {
  static func listen(ipv6: Bool, port: Int = 0, everywhere: Bool = false) throws -> CInt {
    let listener = try bound(ipv6: ipv6, port: port, everywhere: everywhere)
    guard Glibc.listen(listener, 1024) == 0 else {
      throw TestFailure("no port for the origin: errno \(errno)")
    }
    return listener
  }

  /// A socket that is bound to a port, by default a free one, and does not listen yet.
  ///
  /// While one that `isShared` does not listen, another program may bind the port as well, if it asks for that one.
  static func bound(
    ipv6: Bool = false, port: Int = 0, everywhere: Bool = false, isShared: Bool = false
  ) throws -> CInt {
    let number = socket(
      ipv6 ? AF_INET6 : AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var on: CInt = isShared ? 1 : 0
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
    guard (ipv6 ? bindIPv6(number) : bindIPv4(number, port, everywhere)) == 0 else {
      throw TestFailure("no port for the origin: errno \(errno)")
    }
    return number
  }

  private static func bindIPv4(_ listener: CInt, _ port: Int, _ everywhere: Bool) -> CInt {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = everywhere ? 0 : UInt32(0x7f00_0001).bigEndian
    return bind(listener, to: &address)
  }

  static func connectWithoutWaiting(_ port: Int) -> CInt {
    let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    connect(client, to: port)
    return client
  }

  /// A connection to a port of this machine; nil where nobody listens.
  static func connect(_ port: Int) -> CInt? {
    let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard connect(client, to: port) == 0 else {
      close(client)
      return nil
    }
    return client
  }

  @discardableResult private static func connect(_ client: CInt, to port: Int) -> CInt {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func bindIPv6(_ listener: CInt) -> CInt {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_addr = in6addr_loopback
    return bind(listener, to: &address)
  }

  private static func bind<A>(_ listener: CInt, to address: inout A) -> CInt {
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(listener, $0, socklen_t(MemoryLayout<A>.size))
      }
    }
  }

  /// The port is at the same offset in both kinds of address.
  static func port(of listener: CInt) -> Int {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
    }
    return Int(UInt16(bigEndian: address.sin6_port))
  }

  /// The next connection; nil when the listener has been shut down.
  static func accept(_ listener: CInt) -> CInt? {
    var connection = Glibc.accept(listener, nil, nil)
    while connection < 0 {
      // Any other error is temporary: other tests may use many descriptors, for example.
      guard errno != EINVAL, errno != EBADF else { return nil }
      poll(nil, 0, 5)
      connection = Glibc.accept(listener, nil, nil)
    }
    var on: CInt = 1
    setsockopt(
      connection, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    return connection
  }

  /// False when the connection is broken.
  static func send(_ bytes: [UInt8], to connection: CInt) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes {
        Glibc.send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }

  static func waitForEnd(of connection: CInt) {
    var byte: UInt8 = 0
    while recv(connection, &byte, 1, 0) > 0 {}
  }

  /// Makes the following close a reset.
  static func breakOff(_ connection: CInt) {
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  }
}

/// Starts a detached thread.
package func detachThread(_ body: @escaping @Sendable () -> Void) {
  final class Start: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
  pthread_attr_setstacksize(&attributes, 256 * 1024)
  var thread = pthread_t()
  let start = Unmanaged.passRetained(Start(body)).toOpaque()
  let code = pthread_create(
    &thread, &attributes,
    { context in
      guard let context else { return nil }
      Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
      return nil
    }, start)
  precondition(code == 0, "a test can start its threads")
  pthread_attr_destroy(&attributes)
}
