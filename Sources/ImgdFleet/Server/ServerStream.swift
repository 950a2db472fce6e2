internal import CLinux
import Glibc
internal import ImgdSystem

/// What became of an attempt to move bytes.
enum Passage {
  case bytes(Int)
  /// It can go on when the socket is ready for this.
  case blocked(until: Interest)
  /// The other side will send no more.
  case end
  case failed(FleetTrouble)
}

/// The way to a server: a socket, perhaps with TLS over it. Its calls never wait.
final class ServerStream {
  /// Of a picture; others on this thread wait meanwhile.
  private static let mostAtOnce = 1 << 20

  let number: CInt
  // Closed after the session over it.
  private let descriptor: FileDescriptor
  private let tls: TLSSession?

  /// Begins to connect; the socket becomes writable when that has ended.
  init(to place: ServerPlace) throws(FleetTrouble) {
    let descriptor: FileDescriptor
    switch place {
    case .unix(let path): descriptor = try Self.connect(toPath: path)
    case .tcp(let address, let port), .tls(let address, let port, _, _):
      descriptor = try Self.connect(to: address, port: port)
    }
    number = descriptor.number
    if case .tls(_, _, let name, let settings) = place {
      tls = try TLSSession(over: number, serverName: settings.serverName ?? name, settings)
    } else {
      tls = nil
    }
    self.descriptor = descriptor
  }

  private static func connect(toPath path: String) throws(FleetTrouble) -> FileDescriptor {
    let descriptor = try owned(linux_unix_socket())
    guard unsafe linux_connect_unix(descriptor.number, path) == 0 || errno == EINPROGRESS else { throw failure }
    return descriptor
  }

  private static func connect(to address: String, port: Int) throws(FleetTrouble) -> FileDescriptor {
    var wanted = unsafe addrinfo()
    // No names are asked for: this returns at once.
    unsafe wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
    unsafe wanted.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(address, String(port), &wanted, &first)
    guard code == 0, let entry = unsafe first else {
      throw FleetTrouble(.down, unsafe "\(address) is no address: \(String(cString: gai_strerror(code)))")
    }
    defer { unsafe freeaddrinfo(first) }
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = try owned(socket(unsafe entry.pointee.ai_family, kind, 0))
    SocketOptions.prepare(descriptor.number)
    guard
      unsafe Glibc.connect(descriptor.number, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0
        || errno == EINPROGRESS
    else { throw failure }
    return descriptor
  }

  private static func owned(_ number: CInt) throws(FleetTrouble) -> FileDescriptor {
    guard number >= 0 else { throw failure }
    return FileDescriptor(owning: number)
  }

  private static var failure: FleetTrouble { FleetTrouble(.down, unsafe String(cString: strerror(errno))) }

  // MARK: Bytes

  /// Goes on with what comes before the first byte; a passage of no bytes is its end.
  func shake() -> Passage { tls?.shake() ?? .bytes(0) }

  /// Whether it holds bytes that the socket no longer tells of.
  var hasPending: Bool { tls?.hasPending ?? false }

  func read(into room: UnsafeMutableRawBufferPointer) -> Passage {
    if let tls { return unsafe tls.read(into: room) }
    let count = unsafe recv(number, room.baseAddress, room.count, CInt(MSG_DONTWAIT))
    return count == 0 ? .end : Self.passage(count, until: .read)
  }

  /// Writes some of the bytes; `isLast` where none follow at once.
  func write(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> Passage {
    if let tls { return unsafe tls.write(bytes) }
    let flags = CInt(MSG_DONTWAIT | MSG_NOSIGNAL | (isLast ? 0 : MSG_MORE))
    return Self.passage(unsafe send(number, bytes.baseAddress, bytes.count, flags), until: .write)
  }

  /// Writes some of a picture from `start` on: from its own memory, which the kernel sends as it is.
  func write(_ payload: Payload, from start: Int) -> Passage {
    let end = min(payload.count, start + Self.mostAtOnce)
    if tls == nil, let memory = payload.descriptor {
      return Self.passage(linux_send_file(number, memory, off_t(start), end - start), until: .write)
    }
    return payload.withBytes { bytes in
      unsafe bytes.withUnsafeBytes { unsafe writeAll(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
    }
  }

  /// Writes record after record until the socket takes no more: each look at the picture maps its memory anew.
  private func writeAll(_ bytes: UnsafeRawBufferPointer) -> Passage {
    var written = 0
    while written < bytes.count {
      let next = unsafe write(UnsafeRawBufferPointer(rebasing: bytes[written...]), isLast: false)
      guard case .bytes(let count) = next else { return written > 0 ? .bytes(written) : next }
      written += count
    }
    return .bytes(written)
  }

  private static func passage(_ count: Int, until interest: Interest) -> Passage {
    if count >= 0 { return .bytes(count) }
    return errno == EAGAIN || errno == EINTR ? .blocked(until: interest) : .failed(failure)
  }

  func close() { tls?.close() }

  /// How the attempt to connect has ended; nil for success.
  var trouble: FleetTrouble? {
    let code = SocketOptions.error(of: number)
    return code == 0 ? nil : FleetTrouble(.down, unsafe String(cString: strerror(code)))
  }
}

enum SocketOptions {
  /// Sends small commands at once, and ends a TCP connection to a machine that is gone.
  static func prepare(_ socket: CInt) {
    set(CInt(IPPROTO_TCP), TCP_NODELAY, 1, socket)
    set(SOL_SOCKET, SO_KEEPALIVE, 1, socket)
    // After 15 seconds of silence the kernel asks whether the other end is still there, three times, every 5 seconds.
    set(CInt(IPPROTO_TCP), TCP_KEEPIDLE, 15, socket)
    set(CInt(IPPROTO_TCP), TCP_KEEPINTVL, 5, socket)
    set(CInt(IPPROTO_TCP), TCP_KEEPCNT, 3, socket)
    // Milliseconds for which bytes may stay unacknowledged.
    set(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, 5_000, socket)
  }

  private static func set(_ level: CInt, _ option: CInt, _ value: CInt, _ socket: CInt) {
    var value = value
    // The kernel copies a number of four bytes.
    unsafe _ = setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  /// How an attempt to connect has ended; 0 for success.
  static func error(of socket: CInt) -> CInt {
    var code: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    guard unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return errno }
    return code
  }
}
