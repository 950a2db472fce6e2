package import ImgdSystem

/// Posts notifications to the service thread, `imgd-service`, which alone waits for the manager.
///
/// At most one batch of messages is under way and the rest wait in a backlog of a few, however long
/// the manager reads nothing. Without a manager there is no thread, and nothing is posted.
package final class SystemdMessenger {
  private let thread: WorkerThread<SystemdNotifier>?
  private var backlog = MessageBacklog()
  private var isSending = false

  package init(hasManager: Bool, on loop: EventLoop) throws(SystemFailure) {
    guard hasManager else {
      thread = nil
      return
    }
    thread = try WorkerThread(name: "imgd-service", on: loop) { SystemdNotifier() }
  }

  package var hasManager: Bool { thread != nil }

  /// Sends a message as soon as the manager takes it.
  package func post(_ message: SystemdMessage) {
    guard hasManager else { return }
    backlog.add(message)
    if !isSending { sendBacklog() }
  }

  /// Runs `job` on the service thread, after the messages posted to it, and then `then` on the loop.
  package func perform<Outcome: Sendable>(
    _ job: @escaping @Sendable (SystemdNotifier) -> Outcome, then: @escaping (Outcome) -> Void = { _ in }
  ) { thread?.submit(job, then: then) }

  /// Hands the backlog over at once. For the end: a loop that has stopped receives no more outcomes.
  package func flush() { sendBacklog() }

  /// Accepts nothing more, and waits until everything is sent, but no longer than the limit: a manager
  /// that reads nothing does not keep the process from ending. Returns whether everything was sent.
  @discardableResult package func finish(within limit: Duration) -> Bool {
    flush()
    return thread?.stop(within: limit) ?? true
  }

  private func sendBacklog() {
    let messages = backlog.removeAll()
    guard !messages.isEmpty else { return }
    isSending = true
    thread?.submit { notifier in
      for message in messages { notifier.send(message) }
    } then: { [unowned self] in
      isSending = false
      sendBacklog()
    }
  }
}
