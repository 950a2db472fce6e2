import Glibc
import ImgdSystem
import ImgdWire

/// One connection to a daemon, used like a script would: send lines, receive lines.
package final class TestClient: @unchecked Sendable {
  // Unchecked: used by one test at a time.
  private let socket: ClientSocket
  private var buffer: [UInt8] = []
  private var received: [CInt] = []

  /// How long an answer may take before the test has failed.
  package var patience = Duration.seconds(60)

  package init(socket path: String) throws {
    socket = try ClientSocket(path: path)
  }

  deinit {
    for descriptor in received { close(descriptor) }
  }

  /// Sends lines, each with its newline.
  package func send(_ lines: String...) throws {
    try sendRaw(Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  /// Sends bytes as they are; answers that arrive meanwhile are kept.
  package func sendRaw(_ bytes: [UInt8]) throws {
    var outbox = Outbox()
    outbox.bytes = bytes
    while outbox.unsent > 0 {
      guard socket.send(&outbox) else { throw TestFailure("the daemon closed the connection") }
      guard outbox.unsent > 0 else { return }
      guard try socket.wait(forRoom: true, until: .current + patience) else {
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
      guard Instant.current < deadline, try socket.wait(forRoom: false, until: deadline) else {
        let soFar = String(decoding: buffer.prefix(2_000), as: UTF8.self)
        throw TestFailure("no answer within \(patience); so far: \(soFar)")
      }
      switch try take() {
      case .some(true): return true
      case .some(false): return false
      case .none: continue
      }
    }
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
