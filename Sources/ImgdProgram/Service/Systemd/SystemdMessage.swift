package import ImgdSystem

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

/// Messages that wait for the service thread, in order, and never more than a few.
///
/// A manager that reads nothing for hours gets the latest status, one sign of life, and one reload
/// instead of all of them.
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

  /// Takes all messages out.
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
