package import ImgdSystem

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
      watch = try loop.watch(connection.descriptor, for: .read) { [itself = Unowned(self)] _ in itself.object.exchange()
      }
    } catch { throw .failed(path: connection.path, reason: error.reason) }
  }

  deinit { close() }

  /// Stops watching: nothing more is passed on.
  package func close() {
    watch.take()?.cancel()
    dueFlush.take()?.connection = nil
  }

  /// Queues a line for the end of this tick.
  package func send(_ line: [UInt8]) {
    connection.send(line)
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
      try passLinesOn()
      guard isOpen else { return breakOff(nil) }
      watch?.interest = connection.hasUnsent ? [.read, .write] : .read
    } catch { breakOff(error) }
  }

  private func passLinesOn() throws(ConnectionProblem) {
    while watch != nil, let line = try connection.next() { onLine(line) }
  }
}

/// A flush that waits for the end of a tick; the connection may be gone by then.
private final class DueFlush {
  var connection: Unowned<WatchedConnection>?

  init(of connection: WatchedConnection) { self.connection = Unowned(connection) }
}
