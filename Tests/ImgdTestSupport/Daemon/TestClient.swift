import Glibc
import ImgdSystem
import ImgdWire

/// One connection to a daemon, used like a script would: send lines, receive lines.
package final class TestClient: @unchecked Sendable {
  // Unchecked: used by one test at a time.
  private let socket: ClientSocket
  private let number: CInt
  private var buffer: [UInt8] = []
  private var received: [CInt] = []
  /// Lets a daemon in this process go on until it has nothing to do.
  private let turn: (() -> Void)?

  /// How long an answer may take before the test has failed.
  package var patience = Patience.limit

  package init(socket path: String) throws {
    number = try connect(to: path)
    socket = try ClientSocket(FileDescriptor(owning: number))
    turn = nil
  }

  /// A connection to a daemon in this process, which goes on in `turn` alone: what has not come when
  /// that returns does not come.
  package init(_ connection: consuming FileDescriptor, turn: @escaping () -> Void) throws {
    number = connection.number
    socket = try ClientSocket(connection)
    self.turn = turn
  }

  deinit {
    // A program that is just being started may have a copy, and closing alone would say nothing.
    shutdown(number, CInt(SHUT_RDWR))
    for descriptor in received { close(descriptor) }
  }

  /// Sends lines, each with its newline.
  package func send(_ lines: String...) throws {
    try sendRaw(Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  /// Sends text with descriptors attached, which stay the caller's.
  package func send(_ text: String, with numbers: [CInt]) throws {
    guard ImgdTestSupport.send(Array(text.utf8), with: numbers, to: number) == text.utf8.count else {
      throw TestFailure("sendmsg: errno \(errno)")
    }
  }

  /// Sends one request with a descriptor and receives the next line.
  package func ask(_ line: String, with number: CInt) throws -> JSONValue {
    try send(line + "\n", with: [number])
    return try receive()
  }

  /// Sends bytes as they are; answers that arrive meanwhile are kept.
  package func sendRaw(_ bytes: [UInt8]) throws {
    var outbox = Outbox()
    outbox.bytes = bytes
    while outbox.unsent > 0 {
      guard socket.send(&outbox) else { throw TestFailure("the daemon closed the connection") }
      guard outbox.unsent > 0 else { return }
      guard try wait(forRoom: true, until: .current + patience) else {
        throw TestFailure("the daemon reads nothing")
      }
      _ = try take()
    }
  }

  /// Sends one request and receives the next line.
  package func ask(_ line: String) throws -> JSONValue {
    try send(line)
    return try receive()
  }

  /// The next line, as JSON.
  package func receive() throws -> JSONValue {
    let line = try receiveLine()
    guard let value = try? JSONValue(parsing: line.span) else {
      throw TestFailure("not JSON: \(String(decoding: line, as: UTF8.self))")
    }
    return value
  }

  /// The next line, if it is there at this moment.
  package func receiveNow() throws -> JSONValue? {
    if !buffer.contains(UInt8(ascii: "\n")) { _ = try take() }
    return buffer.contains(UInt8(ascii: "\n")) ? try receive() : nil
  }

  /// The next `count` lines, as JSON.
  package func receive(_ count: Int) throws -> [JSONValue] {
    try (0..<count).map { _ in try receive() }
  }

  /// The next line's bytes, without its newline and the white space before it.
  package func receiveLine() throws -> [UInt8] {
    var start = 0
    // An endless stream of white space must not hold up a test.
    let deadline = Instant.current + patience
    while true {
      if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(buffer[..<end])
        buffer.removeFirst(end + 1)
        return Array(line.drop { $0 == UInt8(ascii: " ") })
      }
      start = buffer.count
      guard try readMore(until: deadline) else {
        throw TestFailure("the daemon closed the connection")
      }
    }
  }

  /// The next bytes, including white space; empty at the end.
  package func receiveRaw() throws -> [UInt8] {
    if buffer.isEmpty { _ = try readMore() }
    defer { buffer = [] }
    return buffer
  }

  /// Whether the daemon closes the connection without a further line.
  package func isClosedByDaemon() throws -> Bool {
    let deadline = Instant.current + patience
    while try readMore(until: deadline) {}
    return !buffer.contains(UInt8(ascii: "\n"))
  }

  /// The oldest received descriptor.
  package func takeDescriptor() -> CInt? {
    received.isEmpty ? nil : received.removeFirst()
  }

  /// Closes the sending side.
  package func halfClose() {
    socket.endSending()
  }

  /// Waits for bytes; false when the daemon has closed the connection.
  private func readMore(until deadline: Instant? = nil) throws -> Bool {
    let deadline = deadline ?? .current + patience
    while true {
      guard Instant.current < deadline, try wait(forRoom: false, until: deadline) else {
        let soFar = String(decoding: buffer.prefix(2_000), as: UTF8.self)
        let limit = turn == nil ? " within \(patience)" : ", and the daemon has nothing to do"
        throw TestFailure("no answer\(limit); so far: \(soFar)")
      }
      switch try take() {
      case .some(true): return true
      case .some(false): return false
      case .none: continue
      }
    }
  }

  private func wait(forRoom: Bool, until deadline: Instant) throws -> Bool {
    turn?()
    return try socket.wait(forRoom: forRoom, until: turn == nil ? deadline : .current)
  }

  /// Reads once: true for bytes, false at the end, nil when there is nothing.
  private func take() throws -> Bool? {
    switch try socket.receive() {
    case .bytes(let bytes, let descriptor):
      buffer += bytes
      if let descriptor = consume descriptor { received.append(descriptor.release()) }
      return true
    case .end: return false
    case .nothing: return nil
    }
  }
}

/// A Unix socket that listens, made without the mask of this process: other tests make files meanwhile.
package func listen(at path: String) throws -> CInt {
  let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
  let number = socket(AF_UNIX, kind, 0)
  guard UnixName.withAddress(of: path, { Glibc.bind(number, $0, $1) }) == 0,
    Glibc.listen(number, SOMAXCONN) == 0
  else {
    defer { close(number) }
    throw TestFailure("\(path): \(String(cString: strerror(errno)))")
  }
  return number
}

/// A connection to a Unix socket.
package func connect(to path: String) throws -> CInt {
  let number = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  guard number >= 0 else { throw TestFailure("socket: errno \(errno)") }
  guard UnixName.withAddress(of: path, { Glibc.connect(number, $0, $1) }) == 0 else {
    defer { close(number) }
    throw TestFailure("\(path): \(String(cString: strerror(errno)))")
  }
  return number
}
