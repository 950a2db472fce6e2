// A daemon that is restarted in the middle of a long list takes its connections with it. Fetches may be asked
// for again, so a lost connection is made again, for as long as a restart takes. Time that passes without an answer
// counts: what ended the daemon may end it again and again.

import ImgdConnection
import ImgdSystem
import ImgdWire

/// The connection of a run to the daemon, which survives a restart of the daemon.
final class RunConnection {
  /// The time that a restart may take.
  private static let patience = Duration.seconds(10)
  private static let pause = Duration.milliseconds(50)

  /// What the run does with a line, while there is no connection, after a new one, and when there will be none.
  struct Handlers {
    let line: (Answer) -> Void
    let pause: () -> Void
    let renewal: () -> Void
    let loss: (Failure) -> Void
  }

  private let context: Context
  private let loop: EventLoop
  private let handlers: Handlers
  private var connection: WatchedConnection?
  /// The end of the attempts to connect again; nil while the daemon answers.
  private var deadline: Instant?
  private var hasTold = false
  /// The next attempt to connect.
  private var attempt: Timer?

  /// Connects; a daemon that is not there at the beginning is not waited for.
  init(_ context: Context, on loop: EventLoop, _ handlers: Handlers) throws(Failure) {
    self.context = context
    self.loop = loop
    self.handlers = handlers
    try connect()
  }

  deinit { close() }

  /// Sends a line in this tick or, where there is no room, later; without a connection it is dropped.
  func send(_ request: [UInt8]) {
    connection?.send(request)
  }

  /// The descriptor that belongs to the answer in hand.
  func takePicture() -> HeldPicture? {
    guard let descriptor = connection?.takeDescriptor() else { return nil }
    return HeldPicture(descriptor)
  }

  /// The daemon answers: a connection that is lost from now on is made again.
  func expectRestarts() {
    deadline = nil
    hasTold = false
  }

  /// Ends the connection: the daemon cancels what was asked over it.
  func close() {
    connection.take()?.close()
    attempt.take()?.cancel()
  }

  private func connect() throws(Failure) {
    let made = try context.connect()
    let link = Unowned(self)
    do throws(ConnectionProblem) {
      connection = try WatchedConnection(
        made, on: loop, onLine: { link.object.receive($0) }, onEnd: { link.object.lose($0) })
    } catch { throw Failure(error) }
  }

  private func receive(_ line: [UInt8]) {
    do throws(ConnectionProblem) {
      let reply = try Reply(line, from: context.socket)
      // The daemon says so before it hangs up; what it was asked for is asked for again then.
      if ReplyCode(rawValue: reply.errorCode ?? "") == .shuttingDown { return }
      handlers.line(Answer(line: line, reply: reply))
    } catch { connection?.breakOff(error) }
  }

  private func lose(_ problem: ConnectionProblem?) {
    let problem = problem ?? .closed(path: context.socket)
    close()
    if case .strange = problem { return handlers.loss(Failure(problem)) }
    let end = deadline ?? loop.moment + Self.patience
    let isFirst = deadline == nil
    deadline = end
    if isFirst { return retry(Failure(problem), until: end) }
    // A daemon that is about to end may still accept a connection.
    retryLater(Failure(problem), until: end)
  }

  private func retry(_ reason: Failure, until end: Instant) {
    guard loop.moment < end else { return handlers.loss(reason) }
    do throws(Failure) {
      try connect()
      handlers.renewal()
    } catch {
      if !hasTold { handlers.pause() }
      hasTold = true
      retryLater(reason, until: end)
    }
  }

  private func retryLater(_ reason: Failure, until end: Instant) {
    attempt = loop.schedule(after: Self.pause) { [link = Unowned(self)] in
      link.object.retry(reason, until: end)
    }
  }
}
