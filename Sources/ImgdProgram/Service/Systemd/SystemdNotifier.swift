import CSystemd
package import ImgdSystem

/// Notifies the service manager through libsystemd; does nothing where there is none.
///
/// Every call blocks while the manager's queue is full. So they are made by the service thread, or
/// before the process has other threads.
package struct SystemdNotifier {
  /// The kernel takes no more descriptors with one datagram (SCM_MAX_FD).
  package static let mostDescriptors = 253

  package init() {}

  /// Sends one message; false when there is no manager to receive it.
  @discardableResult package func send(_ message: SystemdMessage) -> Bool { notify(message.text) }

  /// Gives the memfds of payloads to the manager, which hands them to the next process under a name.
  /// Payloads on the heap have no memfd.
  ///
  /// Returns false when not all were sent; how many of them the manager keeps is up to its own limit.
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
    // Both are read for the length of the call.
    unsafe sd_pid_notify_with_fds(0, 0, text, descriptors, UInt32(descriptors.count)) > 0
  }
}
