// A daemon that is restarted in the middle of a long list takes its connections with it. Fetches may be repeated, so
// imgctl connects again, for as long as a restart may take. The clock stops at the daemon's next answer, not at a new
// connection: whatever ended the daemon may end it again and again.

import ImgdConnection
import ImgdSystem
import ImgdWire

/// The connection of a run to the daemon, which survives a restart of the daemon.
final class RunConnection {
  /// The time that a restart may take.
  private static let patience = Duration.seconds(10)
  private static let pause = Duration.milliseconds(50)

  private let context: Context
  private let loop: EventLoop
  /// The owner, which is told of lines, of the lack of a connection, of a new one, and of the end of all attempts.
  private let run: Unowned<FetchRun>
  private var connection: WatchedConnection?
  /// The end of the attempts to connect again; nil while the daemon answers.
  private var deadline: Instant?
  private var hasTold = false
  private var attempt: Timer?

  /// Connects; does not wait for a daemon that is absent at the beginning.
  init(_ context: Context, on loop: EventLoop, of run: FetchRun) throws(Failure) {
    self.context = context
    self.loop = loop
    self.run = Unowned(run)
    try connect()
  }

  deinit { close() }

  /// Sends a line in this tick or, where there is no room, later; without a connection it is dropped.
  func send(_ request: [UInt8], with file: SharedDescriptor?) { connection?.send(request, with: file) }

  /// Takes the picture that came with the answer in hand, if there is one.
  func takePicture() -> SharedDescriptor? {
    guard let descriptor = connection?.takeDescriptor() else { return nil }
    return SharedDescriptor(descriptor)
  }

  /// Notes that the daemon has answered: the next restart has the full time again.
  func expectRestarts() {
    deadline = nil
    hasTold = false
  }

  /// Ends the connection: the daemon cancels what was requested over it.
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
      // The daemon announces its end before it hangs up; its open requests are sent again afterwards.
      if ReplyCode(rawValue: reply.errorCode ?? "") == .shuttingDown { return }
      run.object.receive(Answer(line: line, reply: reply))
    } catch { connection?.breakOff(error) }
  }

  private func lose(_ problem: ConnectionProblem?) {
    let problem = problem ?? .closed(path: context.socket)
    close()
    if case .strange = problem { return run.object.lose(Failure(problem)) }
    let end = deadline ?? loop.moment + Self.patience
    let isFirst = deadline == nil
    deadline = end
    if isFirst { return retry(Failure(problem), until: end) }
    // A daemon that is about to end may still accept a connection.
    retryLater(Failure(problem), until: end)
  }

  private func retry(_ reason: Failure, until end: Instant) {
    guard loop.moment < end else { return run.object.lose(reason) }
    do throws(Failure) {
      try connect()
      run.object.askAgain()
    } catch {
      if !hasTold { run.object.tellOfPause() }
      hasTold = true
      retryLater(reason, until: end)
    }
  }

  private func retryLater(_ reason: Failure, until end: Instant) {
    attempt = loop.schedule(after: Self.pause) { [link = Unowned(self)] in link.object.retry(reason, until: end) }
  }
}
