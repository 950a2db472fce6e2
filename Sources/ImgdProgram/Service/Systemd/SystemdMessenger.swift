import CSystemd
package import ImgdSystem

/// Posts notifications to the service thread, `imgd-service`, which alone waits for the manager. At most one batch of
/// messages is under way and the rest wait in a backlog of a few, however long the manager reads nothing. Without a
/// manager there is no thread, and nothing is posted.
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
    if !isSending { flush() }
  }

  /// Runs `job` on the service thread, after the messages posted to it, and then `then` on the loop.
  package func perform<Outcome: Sendable>(
    _ job: @escaping @Sendable (SystemdNotifier) -> Outcome, then: @escaping (Outcome) -> Void = { _ in }
  ) { thread?.submit(job, then: then) }

  /// Hands the backlog over at once: at the end, a loop that has stopped receives no more outcomes.
  package func flush() {
    let messages = backlog.removeAll()
    guard !messages.isEmpty else { return }
    isSending = true
    thread?.submit { notifier in
      for message in messages { notifier.send(message) }
    } then: { [unowned self] in
      isSending = false
      flush()
    }
  }

  /// Accepts nothing more, and waits until everything is sent, but no longer than the limit: a manager
  /// that reads nothing does not keep the process from ending. Returns whether everything was sent.
  @discardableResult package func finish(within limit: Duration) -> Bool {
    flush()
    return thread?.stop(within: limit) ?? true
  }
}

/// A notification to the service manager.
package enum SystemdMessage: Sendable, Equatable {
  /// The service answers clients, after a start or a reload.
  case ready(status: String)
  /// A reload begins; `ready` ends it. The time tells the manager one reload from another.
  case reloading(since: Instant)
  case stopping(status: String)
  /// One line for every user of the machine.
  case status(String)
  /// The sign of life that the watchdog waits for.
  case alive
  /// The service needs more time to start, reload or stop, counted from now.
  case extendTimeout(Duration)
  /// Asks the manager to close the descriptors that it keeps under a name.
  case removeDescriptors(named: String)

  /// The message as sd_notify(3) defines it: one assignment a line.
  var text: String {
    switch self {
    case .ready(let status): "READY=1\n" + Self.assignment(ofStatus: status)
    case .reloading(let start): "RELOADING=1\nMONOTONIC_USEC=\(start.nanoseconds / 1000)"
    case .stopping(let status): "STOPPING=1\n" + Self.assignment(ofStatus: status)
    case .status(let status): Self.assignment(ofStatus: status)
    case .alive: "WATCHDOG=1"
    case .extendTimeout(let duration): "EXTEND_TIMEOUT_USEC=\(duration.nanoseconds / 1000)"
    case .removeDescriptors(let name): "FDSTOREREMOVE=1\nFDNAME=\(name)"
    }
  }

  /// The most bytes of a status. The manager drops a datagram of more than 4,096 bytes with everything in it.
  private static let longestStatus = 2_048

  /// One line: the manager would believe an assignment within the text.
  private static func assignment(ofStatus text: String) -> String {
    var status = "STATUS="
    for scalar in text.unicodeScalars {
      guard status.utf8.count < longestStatus else { return status + "…" }
      status.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
    }
    return status
  }
}

/// Messages that wait for the service thread, in order, and never more than a few. A manager that reads nothing for
/// hours gets the latest status, one sign of life, and one reload instead of all of them.
struct MessageBacklog {
  private(set) var messages: [SystemdMessage] = []

  /// Appends a message, and drops the messages that it replaces.
  mutating func add(_ message: SystemdMessage) {
    switch message {
    case .alive: guard !messages.contains(.alive) else { return }
    case .status, .ready, .stopping: messages.removeAll { if case .status = $0 { true } else { false } }
    case .reloading: dropFinishedReload()
    case .extendTimeout, .removeDescriptors: break
    }
    messages.append(message)
  }

  mutating func removeAll() -> [SystemdMessage] {
    defer { messages = [] }
    return messages
  }

  /// Drops the last reload when both its beginning and its end still wait.
  private mutating func dropFinishedReload() {
    guard let end = messages.lastIndex(where: { if case .ready = $0 { true } else { false } }),
      let start = messages.lastIndex(where: { if case .reloading = $0 { true } else { false } }), start < end
    else { return }
    messages.remove(at: end)
    messages.remove(at: start)
  }
}

/// Notifies the service manager through libsystemd; does nothing where there is none. Every call blocks while the
/// manager's queue is full. So they are made by the service thread, or before the process has other threads.
package struct SystemdNotifier {
  /// The kernel takes no more descriptors with one datagram (SCM_MAX_FD).
  package static let mostDescriptors = 253

  package init() {}

  /// Sends one message; false when there is no manager to receive it.
  @discardableResult package func send(_ message: SystemdMessage) -> Bool { notify(message.text) }

  /// Gives the memfds of payloads to the manager, which hands them to the next process under a name. Those on the
  /// heap have none. Returns false when not all were sent; the manager keeps as many as its own limit allows.
  package func store(_ payloads: [Payload], named name: String) -> Bool {
    var rest = payloads.compactMap(\.descriptor)[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.mostDescriptors))
      // The manager need not poll them: a memfd never hangs up.
      guard notify("FDSTORE=1\nFDPOLL=0\nFDNAME=\(name)", part) else { return false }
      rest = rest.dropFirst(part.count)
    }
    return true
  }

  /// Has the manager close the descriptors that it keeps under a name; false when there is no manager.
  package func remove(named name: String) -> Bool { send(.removeDescriptors(named: name)) }

  /// Waits until the manager has processed every message so far; false when it has not in time.
  package func waitUntilProcessed(atMost limit: Duration) -> Bool {
    sd_notify_barrier(0, UInt64(max(limit.nanoseconds, 0)) / 1000) > 0
  }

  private func notify(_ text: String, _ descriptors: [CInt] = []) -> Bool {
    unsafe sd_pid_notify_with_fds(0, 0, text, descriptors, UInt32(descriptors.count)) > 0
  }
}
