// What a service manager says to a service at its start, in variables of the environment.
//
// Most of it names the process that is meant by its number: the variables reach whatever that process
// starts as well, and a child that believed them would ping a watchdog, or take sockets, that are not
// its own. So they are read once, before the first thread, and taken out of the environment.

import Glibc

/// What the service manager has said to this process.
package struct ServiceEnvironment: Sendable, Equatable {
  /// Where to send what the manager should know; nil without a manager.
  package let notifySocket: String?
  /// How often the manager wants a sign of life at least; nil when it wants none.
  package let watchdogPeriod: Duration?
  /// Descriptors that were open when the process began, in their order.
  package let inherited: [InheritedDescriptor]
  /// What tells of memory pressure, and what to write there first.
  package let pressureWatch: String?
  package let pressureWrite: String?
  /// Which file standard error is, if the journal reads it.
  package let journalStream: JournalStream?
  /// How many descriptors the manager keeps for the service from one process to the next.
  package let storeLimit: Int

  /// Reads the variables for the process of that number.
  package init(_ variables: [String: String], pid: Int32) {
    notifySocket = variables["NOTIFY_SOCKET"].flatMap(Self.socketName)
    watchdogPeriod = Self.watchdogPeriod(variables, pid)
    inherited = Self.inherited(variables, pid)
    pressureWatch = variables["MEMORY_PRESSURE_WATCH"]
    pressureWrite = variables["MEMORY_PRESSURE_WRITE"]
    journalStream = variables["JOURNAL_STREAM"].flatMap(JournalStream.init(text:))
    // Managers before systemd 254 do not say how many; the unit does in their place.
    let limit = variables["FDSTORE"] ?? variables["IMGD_FDSTORE"] ?? "0"
    storeLimit = min(max(Int(limit) ?? 0, 0), 1 << 20)
  }

  private static let names = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
    "LISTEN_FDNAMES", "LISTEN_PIDFDID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
    "JOURNAL_STREAM", "FDSTORE", "IMGD_FDSTORE",
  ]

  /// Reads this process's environment and takes these variables out of it; what was inherited is
  /// kept from programs that the process starts. To be called before anything starts a thread.
  package static func take() -> ServiceEnvironment {
    let environment = ServiceEnvironment(ProcessEnvironment.all, pid: getpid())
    // The environment has no lock; there is no other thread yet.
    for name in names { unsafe unsetenv(name) }
    for descriptor in environment.inherited {
      _ = fcntl(descriptor.number, F_SETFD, FD_CLOEXEC)
    }
    return environment
  }

  // MARK: Reading

  /// A path or a name with an @ before it; other kinds of address are not spoken here.
  private static func socketName(_ text: String) -> String? {
    let isName = text.hasPrefix("/") || text.hasPrefix("@")
    return isName && (2...107).contains(text.utf8.count) ? text : nil
  }

  private static func watchdogPeriod(_ variables: [String: String], _ pid: Int32) -> Duration? {
    if let meant = variables["WATCHDOG_PID"], Int32(meant) != pid { return nil }
    guard let microseconds = variables["WATCHDOG_USEC"].flatMap(Int64.init),
      (1..<1 << 53).contains(microseconds)
    else { return nil }
    return .microseconds(microseconds)
  }

  private static func inherited(
    _ variables: [String: String], _ pid: Int32
  ) -> [InheritedDescriptor] {
    guard variables["LISTEN_PID"].flatMap(Int32.init) == pid,
      let count = variables["LISTEN_FDS"].flatMap(Int32.init), (1...1 << 20).contains(count)
    else { return [] }
    let names = (variables["LISTEN_FDNAMES"] ?? "").split(
      separator: ":", omittingEmptySubsequences: false)
    return (0..<count).compactMap { index in
      let number = InheritedDescriptor.first + index
      guard fcntl(number, F_GETFD) >= 0 else { return nil }
      let name = Int(index) < names.count ? String(names[Int(index)]) : ""
      return InheritedDescriptor(
        number: number, name: name.isEmpty ? InheritedDescriptor.noName : name)
    }
  }
}

/// A descriptor that was open when the process began, under the name that the manager gave it.
package struct InheritedDescriptor: Sendable, Equatable {
  /// After standard input, output and error.
  static let first: CInt = 3
  /// What stands for the name of one that was given none.
  package static let noName = "unknown"

  package let number: CInt
  package let name: String

  package init(number: CInt, name: String) {
    self.number = number
    self.name = name
  }
}
