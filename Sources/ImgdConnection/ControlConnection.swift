// A client may send thousands of requests before it reads the first answer. The daemon stops reading from
// a client that does not read, so a client that only writes would wait for ever. Therefore `send` only
// queues a line, and `receive` writes and reads at the same time. A program with a loop of its own watches
// the descriptor, and calls `exchange` in place of `receive`.
//
// A descriptor arrives with the first byte of its line, but one read may also return the end of earlier
// lines. Only the order is certain: the n-th descriptor belongs to the n-th line with `fds`. So descriptors
// wait in a queue until `takeDescriptor` is called for such a line. The other way, a line with a descriptor ends its
// message: to the daemon a descriptor belongs to the last line of its message.

import Glibc
package import ImgdSystem
import ImgdWire

/// A connection to the daemon that sends lines, and receives lines and descriptors.
package final class ControlConnection {
  /// More than the longest answer, which is a picture of 16 MB in base64.
  private static let longestLine = 64 << 20

  /// The socket, as messages name it.
  package let path: String
  private let socket: ClientSocket
  private var outbox = Outbox()
  private var framer = LineFramer(longestLine: longestLine)
  /// Lines that have arrived and were not taken yet.
  private var lines = Fifo<Result<[UInt8], ConnectionProblem>>()
  private var descriptors: [ReceivedDescriptor] = []

  /// Whether a line leaves or arrives.
  package enum Direction { case sent, received }

  /// Called with each line that is sent or has arrived.
  package var onLine: ((_ line: [UInt8], _ direction: Direction) -> Void)?

  /// Connects to the daemon at a socket path; with `mayWait`, waits until it has room for the connection.
  package init(path: String, mayWait: Bool = true) throws(ConnectionProblem) {
    self.path = path
    do throws(SystemFailure) { socket = try ClientSocket(path: path, mayWait: mayWait) } catch {
      throw ConnectionProblem(error, path: path)
    }
  }

  /// Queues a request line, without its newline; `receive` sends it, with a descriptor that stays the caller's.
  package func send(_ line: [UInt8], with descriptor: SharedDescriptor? = nil) {
    onLine?(line, .sent)
    if let descriptor { outbox.attach(descriptor, toNext: line.count + 1) }
    outbox.bytes += line
    outbox.bytes.append(UInt8(ascii: "\n"))
  }

  /// The next line, without its newline; nil when the daemon has closed the connection. To sleep until a deadline has its
  /// price: a caller that expects the line at once looks for it some times before.
  package func receive(until deadline: Instant? = nil, looking times: Int = 0) throws(ConnectionProblem) -> [UInt8]? {
    while true {
      if let line = try next() { return line }
      sendWaiting()
      guard try waitForDaemon(until: deadline, looking: times) else { throw .silent(path: path) }
      guard try readArrived() else { return nil }
    }
  }

  // For programs that wait for other things as well: watch the descriptor, call `exchange` when it is ready, and
  // take the lines with `next`.

  /// The socket, to be watched.
  package var descriptor: CInt { socket.number }

  /// Whether lines wait until the daemon has room for them.
  package var hasUnsent: Bool { outbox.unsent > 0 }

  /// Sends and receives as much as is possible without waiting; false when the daemon has closed the connection.
  package func exchange() throws(ConnectionProblem) -> Bool {
    sendWaiting()
    return try readArrived()
  }

  /// The oldest line that has arrived and was not taken yet.
  package func next() throws(ConnectionProblem) -> [UInt8]? {
    guard let line = lines.popFirst() else { return nil }
    let bytes = try line.get()
    onLine?(bytes, .received)
    return bytes
  }

  /// The oldest descriptor that has not been taken yet.
  package func takeDescriptor() -> FileDescriptor? { descriptors.isEmpty ? nil : descriptors.removeFirst().handOver() }

  private func keep(_ finding: borrowing LineFramer.Finding) -> LineFramer.Flow {
    switch finding {
    case .line(let bytes):
      // The bytes are copied before the framer takes in more.
      lines.append(.success(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }))
    case .tooLong:
      lines.append(.failure(.strange(path: path, what: "it sent a line of more than \(Self.longestLine) bytes")))
    }
    return .next
  }

  private func sendWaiting() {
    guard outbox.unsent > 0, !socket.send(&outbox) else { return }
    // A daemon that closes the connection may have sent a reason, which is still to be read.
    outbox = Outbox()
  }

  private func waitForDaemon(until deadline: Instant?, looking times: Int) throws(ConnectionProblem) -> Bool {
    do throws(SystemFailure) { return try socket.wait(forRoom: hasUnsent, until: deadline, looking: times) } catch {
      throw ConnectionProblem(error, path: path)
    }
  }

  /// Reads the bytes that have arrived; false at the end of the connection.
  private func readArrived() throws(ConnectionProblem) -> Bool {
    do throws(SystemFailure) {
      switch try socket.receive() {
      case .nothing: return true
      case .end: return false
      case .bytes(let bytes, let descriptor):
        framer.feed(bytes.span) { keep($0) }
        if let descriptor { descriptors.append(ReceivedDescriptor(descriptor)) }
        return true
      }
    } catch { throw ConnectionProblem(error, path: path) }
  }
}

/// A box for a descriptor in an array, which cannot hold non-copyable values.
private final class ReceivedDescriptor {
  private var descriptor: FileDescriptor?

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = consume descriptor }

  func handOver() -> FileDescriptor? { descriptor.take() }
}

/// The rule by which a client finds the daemon's socket.
package enum SocketSearch {
  /// The named socket, or else the one in the environment, or else the user's own if it exists, or else
  /// the machine's.
  package static func path(
    named: String?, environment: [String: String], uid: UInt32 = geteuid(), exists: (String) -> Bool = isThere
  ) -> String {
    if let named { return named }
    if let variable = environment["IMGD_SOCKET"], !variable.isEmpty { return variable }
    let own = ControlSocketPlace.user(environment: environment, uid: uid)
    return exists(own) ? own : ControlSocketPlace.system
  }

  /// Whether a file of any kind has this path.
  package static func isThere(_ path: String) -> Bool {
    // The path is a C string for the length of the call.
    unsafe access(path, F_OK) == 0
  }
}

/// A connection on a loop: lines leave at the end of a tick, and are passed on as they arrive.
package final class WatchedConnection {
  private let connection: ControlConnection
  private let loop: EventLoop
  private let onLine: ([UInt8]) -> Void
  private let onEnd: (ConnectionProblem?) -> Void
  private var watch: Watch?
  private var dueFlush: DueFlush?

  /// Connects to a socket.
  package convenience init(
    path: String, on loop: EventLoop, onLine: @escaping ([UInt8]) -> Void, onEnd: @escaping (ConnectionProblem?) -> Void
  ) throws(ConnectionProblem) { try self.init(ControlConnection(path: path), on: loop, onLine: onLine, onEnd: onEnd) }

  /// Watches a connection. `onEnd` is called once, when the connection is over; without a problem when the
  /// daemon has closed it.
  package init(
    _ connection: ControlConnection, on loop: EventLoop, onLine: @escaping ([UInt8]) -> Void,
    onEnd: @escaping (ConnectionProblem?) -> Void
  ) throws(ConnectionProblem) {
    self.connection = connection
    self.loop = loop
    self.onLine = onLine
    self.onEnd = onEnd
    do throws(SystemFailure) {
      watch = try loop.watch(connection.descriptor, for: .read) { [link = Unowned(self)] _ in link.object.exchange() }
    } catch { throw .failed(path: connection.path, reason: error.reason) }
  }

  deinit { close() }

  /// Stops watching: nothing more is passed on.
  package func close() {
    watch.take()?.cancel()
    dueFlush.take()?.connection = nil
  }

  /// Queues a line for the end of this tick, with a descriptor that stays the caller's.
  package func send(_ line: [UInt8], with descriptor: SharedDescriptor? = nil) {
    connection.send(line, with: descriptor)
    guard dueFlush == nil, watch != nil else { return }
    let due = DueFlush(of: self)
    dueFlush = due
    loop.atTickEnd { due.connection?.object.flush() }
  }

  /// The descriptor of the line that has just been passed on.
  package func takeDescriptor() -> FileDescriptor? { connection.takeDescriptor() }

  /// Ends the connection, if a line shows that the other end cannot be trusted.
  package func breakOff(_ problem: ConnectionProblem?) {
    guard watch != nil else { return }
    close()
    onEnd(problem)
  }

  private func flush() {
    dueFlush = nil
    exchange()
  }

  /// Sends and receives as much as is possible without waiting, in place of the loop's next call.
  package func exchange() {
    guard watch != nil else { return }
    do throws(ConnectionProblem) {
      let isOpen = try connection.exchange()
      while watch != nil, let line = try connection.next() { onLine(line) }
      guard isOpen else { return breakOff(nil) }
      watch?.interest = connection.hasUnsent ? [.read, .write] : .read
    } catch { breakOff(error) }
  }
}

/// A flush that waits for the end of a tick; the connection may be gone by then.
private final class DueFlush {
  var connection: Unowned<WatchedConnection>?

  init(of connection: WatchedConnection) { self.connection = Unowned(connection) }
}
