internal import ImgdConnection
internal import ImgdSystem

/// A connection on the client's loop: lines leave at the end of a tick, and are passed on as they arrive.
final class WatchedConnection {
  private let connection: ControlConnection
  private let loop: EventLoop
  private let onLine: ([UInt8]) -> Void
  /// Called once, when the connection is over; without a problem when the daemon has closed it.
  private let onEnd: (ConnectionProblem?) -> Void
  private var watch: Watch?
  private var isFlushDue = false

  init(
    path: String, on loop: EventLoop, onLine: @escaping ([UInt8]) -> Void,
    onEnd: @escaping (ConnectionProblem?) -> Void
  ) throws(ConnectionProblem) {
    connection = try ControlConnection(path: path)
    self.loop = loop
    self.onLine = onLine
    self.onEnd = onEnd
    do throws(SystemFailure) {
      watch = try loop.watch(connection.descriptor, for: .read) { [weak self] _ in self?.exchange()
      }
    } catch { throw .failed(path: path, reason: error.reason) }
  }

  deinit { close() }

  /// Passes on nothing more.
  func close() {
    watch.take()?.cancel()
  }

  /// Queues a line for the end of this tick.
  func send(_ line: [UInt8]) {
    connection.send(line)
    guard !isFlushDue else { return }
    isFlushDue = true
    loop.atTickEnd { [weak self] in
      self?.isFlushDue = false
      self?.exchange()
    }
  }

  /// The descriptor of the line that has just been passed on.
  func takeDescriptor() -> FileDescriptor? {
    connection.takeDescriptor()
  }

  /// Ends the connection, if a line shows that the other end cannot be trusted.
  func breakOff(_ problem: ConnectionProblem?) {
    guard watch != nil else { return }
    close()
    onEnd(problem)
  }

  private func exchange() {
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
