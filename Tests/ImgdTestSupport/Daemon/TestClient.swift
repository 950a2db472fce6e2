import Glibc
import ImgdSystem
import ImgdWire

/// One connection to a daemon, as a script would hold it: lines out, lines in.
package final class TestClient: @unchecked Sendable {
  // Unchecked: used by one test at a time.
  private let descriptor: CInt
  private var buffer: [UInt8] = []
  private var received: [CInt] = []

  /// How long an answer may take before the test has failed.
  package var patience: CInt = 20_000

  package init(socket path: String) throws {
    descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { room in
      room.copyBytes(from: path.utf8.prefix(107))
    }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard connected == 0 else {
      let code = errno
      close(descriptor)
      throw TestFailure("connect \(path): \(String(cString: strerror(code)))")
    }
  }

  deinit {
    for descriptor in received { close(descriptor) }
    close(descriptor)
  }

  /// Sends lines, each with its newline.
  package func send(_ lines: String...) throws {
    try sendRaw(Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  package func sendRaw(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL.rawValue))
      }
      guard count > 0 else { throw TestFailure("send: \(String(cString: strerror(errno)))") }
      sent += count
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
    guard let value = try? JSONValue(parsing: line) else {
      throw TestFailure("not JSON: \(String(decoding: line, as: UTF8.self))")
    }
    return value
  }

  /// As many lines as wanted.
  package func receive(_ count: Int) throws -> [JSONValue] {
    try (0..<count).map { _ in try receive() }
  }

  /// The next line's bytes, without its newline and the white space before it.
  package func receiveLine() throws -> [UInt8] {
    var start = 0
    while true {
      if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(buffer[..<end])
        buffer.removeFirst(end + 1)
        return Array(line.drop { $0 == UInt8(ascii: " ") })
      }
      start = buffer.count
      guard try readMore() else { throw TestFailure("the daemon closed the connection") }
    }
  }

  /// The bytes that are here or come next, white space and all; empty at the end.
  package func receiveRaw() throws -> [UInt8] {
    if buffer.isEmpty { _ = try readMore() }
    defer { buffer = [] }
    return buffer
  }

  /// Whether the daemon closes the connection without a further line.
  package func isClosedByDaemon() throws -> Bool {
    while try readMore() {}
    return !buffer.contains(UInt8(ascii: "\n"))
  }

  /// A descriptor that came with a line, oldest first.
  package func takeDescriptor() -> CInt? {
    received.isEmpty ? nil : received.removeFirst()
  }

  /// Says "no more requests".
  package func halfClose() {
    shutdown(descriptor, CInt(SHUT_WR))
  }

  private func readMore() throws -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, patience) > 0 else {
      throw TestFailure("no answer within \(patience) ms; so far: \(String(decoding: buffer, as: UTF8.self))")
    }
    var part = [UInt8](repeating: 0, count: 65_536)
    var passenger: CInt = -1
    let count = ReceivedBytes.read(descriptor, &part, &passenger)
    if passenger >= 0 { received.append(passenger) }
    guard count > 0 else { return false }
    buffer += part[..<count]
    return true
  }
}
