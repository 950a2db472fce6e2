// The service manager as the one who is told: datagrams of lines `NAME=value`.
//
// Nobody answers, and a manager that does not listen must not stop the service. Signs of life and
// the status come again, so that one that does not fit into the manager's queue may be lost. What is
// said once is said again for a moment: a readiness that got lost would be a start that failed.

internal import CLinux
import Glibc

/// Tells the service manager how the service is; silent where there is none.
package final class ServiceManager: Sendable {
  private let name: String?
  private let number: CInt
  /// Owns the number.
  private let socket: FileDescriptor?

  /// A manager that listens at a path, or at a name with an @ before it.
  package init(socket name: String?) {
    number = name == nil ? -1 : linux_datagram_socket()
    self.name = number < 0 ? nil : name
    socket = number < 0 ? nil : FileDescriptor(owning: number)
  }

  package var isPresent: Bool { name != nil }

  // MARK: How the service is

  /// It serves, after a start or a reload. Answers whether that is said; where it is not, the
  /// manager is too busy to hear it, and has to be told again.
  @discardableResult
  package func ready(status: String) -> Bool {
    !Self.passes(insist("READY=1\n" + Self.status(status)))
  }

  /// What goes on, in words for everybody on the machine.
  package func status(_ status: String) {
    tell(Self.status(status))
  }

  /// A reload begins; `ready` ends it. The time lets the manager tell it from an earlier one.
  package func reloading() {
    insist("RELOADING=1\nMONOTONIC_USEC=\(linux_monotonic_ns() / 1000)")
  }

  /// The stop begins, whoever wants it.
  package func stopping(status: String) {
    insist("STOPPING=1\n" + Self.status(status))
  }

  /// Asks for more time to start, reload or stop, from now on.
  package func extendTimeout(by duration: Duration) {
    insist("EXTEND_TIMEOUT_USEC=\(duration.nanoseconds / 1000)")
  }

  /// The sign of life that the watchdog waits for.
  package func isAlive() {
    tell("WATCHDOG=1")
  }

  /// Why the service is about to end in failure.
  package func failing(status: String) {
    insist(Self.status(status))
  }

  /// In bytes. The manager drops a datagram of more than 4,096 bytes, with all that is said in it.
  private static let longestStatus = 2_048

  /// One line: an assignment of the text's own would be believed.
  private static func status(_ text: String) -> String {
    var status = "STATUS="
    for scalar in text.unicodeScalars {
      guard status.utf8.count < longestStatus else { return status + "…" }
      status.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
    }
    return status
  }

  // MARK: What it keeps

  /// Gives descriptors to the manager, to be handed to the next process under a name.
  ///
  /// Answers whether the manager was told; it keeps as many as its own limit allows.
  package func keep(
    _ descriptors: [CInt], named name: String, within time: Duration = timeToKeep
  ) -> Bool {
    let deadline = Instant.current + time
    var rest = descriptors[...]
    while !rest.isEmpty {
      let some = Array(rest.prefix(Int(LINUX_MOST_DESCRIPTORS)))
      // It need not watch them: none of them ever hangs up.
      let text = "FDSTORE=1\nFDPOLL=0\nFDNAME=\(name)"
      guard insist(text, some, until: deadline) == 0 else { return false }
      rest = rest.dropFirst(some.count)
    }
    return true
  }

  /// The same with the memfds of payloads; those on the heap have none to give.
  package func keep(
    _ payloads: [Payload], named name: String, within time: Duration = timeToKeep
  ) -> Bool {
    keep(payloads.compactMap(\.descriptor), named: name, within: time)
  }

  /// Lets the manager drop what it keeps under a name; answers whether it was told.
  @discardableResult
  package func forget(named name: String, within time: Duration = patience) -> Bool {
    insist("FDSTOREREMOVE=1\nFDNAME=\(name)", until: .current + time) == 0
  }

  /// Waits until the manager has taken in all that it was told; answers whether it has.
  package func waitUntilHeard(atMost limit: Duration) -> Bool {
    guard isPresent else { return false }
    var (reading, writing): (CInt, CInt) = (-1, -1)
    guard unsafe linux_pipe(&reading, &writing) == 0 else { return false }
    let end = FileDescriptor(owning: reading)
    do {
      let barrier = FileDescriptor(owning: writing)
      guard insist("BARRIER=1", [barrier.number]) == 0 else { return false }
    }
    // The other end is now the manager's alone, which closes it when it has come so far.
    return Self.wait(for: end, until: .current + limit)
  }

  private static func wait(for end: borrowing FileDescriptor, until deadline: Instant) -> Bool {
    var request = pollfd(fd: end.number, events: 0, revents: 0)
    while true {
      let patience = CInt(clamping: max(deadline.nanoseconds(since: .current), 0) / 1_000_000)
      let count = unsafe poll(&request, 1, patience)
      guard count < 0, errno == EINTR else { return count > 0 }
    }
  }

  // MARK: Datagrams

  /// The queue of a manager that is busy may be full for a moment.
  package static let patience = Duration.seconds(1)
  /// The same for all of what it keeps, which is many datagrams.
  package static let timeToKeep = Duration.seconds(5)
  private static let pause: CInt = 10

  /// Says it once.
  @discardableResult
  private func tell(_ text: String) -> Bool {
    guard let name else { return false }
    return send(text, [], to: name) == 0
  }

  /// Says it again while only the manager's haste is in the way; zero, or what is in the way.
  @discardableResult
  private func insist(
    _ text: String, _ descriptors: [CInt] = [], until deadline: Instant = .current + patience
  ) -> CInt {
    guard let name else { return ENOTCONN }
    while true {
      let failure = send(text, descriptors, to: name)
      guard Self.passes(failure), Instant.current < deadline else { return failure }
      _ = poll(nil, 0, Self.pause)
    }
  }

  /// A full queue, or too many descriptors under way: what the manager takes in makes room.
  private static func passes(_ failure: CInt) -> Bool {
    [EAGAIN, ENOBUFS, ETOOMANYREFS, EINTR].contains(failure)
  }

  /// Zero, or the error.
  private func send(_ text: String, _ descriptors: [CInt], to name: String) -> CInt {
    let bytes = Array(text.utf8)
    let sent = unsafe linux_send_to(
      number, name, bytes, bytes.count, descriptors, descriptors.count)
    return sent < 0 ? errno : 0
  }
}
