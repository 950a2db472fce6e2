// Requests may be sent by the thousand before the first answer is read. The daemon stops reading a
// client that does not read, so a client that only writes would wait for ever: `receive` does both
// at once, and `send` merely puts a line where `receive` finds it.
//
// Descriptors ride on the first byte of the line they belong to, but a read may bring the end of
// earlier lines before that byte. What holds is the order: the n-th descriptor belongs to the n-th
// line that says it carries one. So they wait in a queue until such a line asks.

package import ImgdSystem
import ImgdWire

/// One connection to the daemon: lines go out, lines and descriptors come in.
package final class ControlConnection {
  /// More than the longest answer: a picture of 16 MB as text.
  private static let longestLine = 64 << 20

  /// The socket, as messages name it.
  package let path: String
  private let socket: ClientSocket
  private var outbox = Outbox()
  private var framer = LineFramer(longestLine: longestLine)
  /// Lines that have arrived and were not asked for yet.
  private var lines: [Result<[UInt8], ConnectionProblem>] = []
  private var descriptors: [ReceivedDescriptor] = []

  /// Connects to the daemon that listens on a path.
  package init(path: String) throws(ConnectionProblem) {
    self.path = path
    do throws(SystemFailure) {
      socket = try ClientSocket(path: path)
    } catch { throw ConnectionProblem(error, path: path) }
  }

  /// Talks over a connection that is made already; the name is for messages.
  package init(_ descriptor: consuming FileDescriptor, name: String) throws(ConnectionProblem) {
    path = name
    do throws(SystemFailure) {
      socket = try ClientSocket(descriptor)
    } catch { throw ConnectionProblem(error, path: name) }
  }

  /// Queues a request, without its line end; it goes out while answers are awaited.
  package func send(_ line: [UInt8]) {
    outbox.bytes += line
    outbox.bytes.append(UInt8(ascii: "\n"))
  }

  /// The next line, without its end; nil when the daemon has closed the connection.
  package func receive(until deadline: Instant? = nil) throws(ConnectionProblem) -> [UInt8]? {
    while true {
      if !lines.isEmpty { return try lines.removeFirst().get() }
      do throws(SystemFailure) {
        sendWaiting()
        guard try socket.wait(forRoom: outbox.unsent > 0, until: deadline) else { break }
        guard try readArrived() else { return nil }
      } catch { throw ConnectionProblem(error, path: path) }
    }
    throw .silent(path: path)
  }

  /// The descriptor that came with the oldest line that has not asked for its own yet.
  package func takeDescriptor() -> FileDescriptor? {
    descriptors.isEmpty ? nil : descriptors.removeFirst().take()
  }

  private func take(_ finding: borrowing LineFramer.Finding) -> LineFramer.Flow {
    switch finding {
    case .line(let bytes):
      // The bytes are copied before the framer takes in more.
      let line = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
      lines.append(.success(line))
    case .tooLong:
      let what = "it sent a line of more than \(Self.longestLine) bytes"
      lines.append(.failure(.strange(path: path, what: what)))
    }
    return .next
  }

  private func sendWaiting() {
    guard outbox.unsent > 0, !socket.send(&outbox) else { return }
    // Who closes a connection may have said why; that is read before the end is met.
    outbox = Outbox()
  }

  /// Reads what is there; false at the end.
  private func readArrived() throws(SystemFailure) -> Bool {
    switch try socket.receive() {
    case .nothing: return true
    case .end: return false
    case .bytes(let bytes, let descriptor):
      framer.feed(bytes.span) { take($0) }
      if let descriptor { descriptors.append(ReceivedDescriptor(descriptor)) }
      return true
    }
  }
}

/// A descriptor in a queue: arrays hold nothing that cannot be copied.
private final class ReceivedDescriptor {
  private var descriptor: FileDescriptor?

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = consume descriptor
  }

  func take() -> FileDescriptor? {
    descriptor.take()
  }
}
