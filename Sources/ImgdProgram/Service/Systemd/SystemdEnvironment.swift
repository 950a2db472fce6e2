// Most variables that systemd sets for a service name the process that they are for by its id, yet every program that
// this process starts would inherit them: a child that believed them would ping a watchdog, or use sockets, that are
// not its own. So they are read once, before the first thread, and removed. NOTIFY_SOCKET alone stays, because
// libsystemd looks it up for each message; systemd accepts messages of the main process only (NotifyAccess=main).

import CSystemd
import Glibc
package import ImgdSystem

/// The variables and descriptors that systemd has passed to this process.
package struct SystemdEnvironment: Sendable, Equatable {
  /// Whether a service manager takes notifications.
  package let hasManager: Bool
  /// The longest time between two signs of life; nil when the manager asks for none.
  package let watchdogPeriod: Duration?
  /// Descriptors that were open when the process began, in their order.
  package let inherited: [InheritedDescriptor]
  /// Why announced descriptors are not used; nil when there is nothing to complain about.
  package let inheritanceProblem: String?
  /// The file to poll for memory pressure, and the text to write to it first.
  package let pressureWatch: String?
  package let pressureWrite: String?
  /// Which file standard error is, if it is a stream to the journal.
  package let journalStream: JournalStream?
  /// How many descriptors the manager keeps for the service from one process to the next.
  package let storeLimit: Int
  /// A directory of the service's own, in memory, that outlives the process; nil when there is none.
  package let runtimeDirectory: String?

  private static let variables = [
    "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "LISTEN_PIDFDID",
    "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "JOURNAL_STREAM", "FDSTORE", "IMGD_FDSTORE", "RUNTIME_DIRECTORY",
  ]

  /// Reads the variables and removes them from the environment; inherited descriptors become
  /// close-on-exec. To be called before anything starts a thread.
  package static func takeVariables() -> SystemdEnvironment {
    let environment = SystemdEnvironment(ProcessEnvironment.all)
    // The environment has no lock; there is no other thread yet.
    for name in variables { unsafe unsetenv(name) }
    return environment
  }

  /// Where the log goes, by this and by the variables that are no service manager's.
  package func logTarget() throws(UsageProblem) -> LogTarget {
    try .chosen(by: ProcessEnvironment.all, else: SystemdJournal(stream: journalStream))
  }

  private init(_ variables: [String: String]) {
    hasManager = variables["NOTIFY_SOCKET"]?.isEmpty == false
    watchdogPeriod = Self.enabledWatchdog()
    do throws(SystemFailure) {
      inherited = try Self.passedDescriptors()
      inheritanceProblem = nil
    } catch {
      inherited = []
      inheritanceProblem = Self.problem(error, variables)
    }
    pressureWatch = variables["MEMORY_PRESSURE_WATCH"]
    pressureWrite = variables["MEMORY_PRESSURE_WRITE"]
    journalStream = variables["JOURNAL_STREAM"].flatMap(JournalStream.init(text:))
    runtimeDirectory = variables["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    storeLimit = Self.storeLimit(variables)
  }

  private static func enabledWatchdog() -> Duration? {
    var period: UInt64 = 0
    // More microseconds than this are centuries, which would overflow in nanoseconds.
    guard unsafe sd_watchdog_enabled(1, &period) > 0, period < 1 << 53 else { return nil }
    return .microseconds(Int64(period))
  }

  private static func passedDescriptors() throws(SystemFailure) -> [InheritedDescriptor] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = unsafe sd_listen_fds_with_names(1, &names)
    guard count >= 0 else { throw SystemFailure("sd_listen_fds_with_names", errno: -count) }
    guard count > 0, let names = unsafe names else { return [] }
    // The array and each of its texts are the caller's to free.
    defer { unsafe free(names) }
    return (0..<count).map { index in
      let text = unsafe names[Int(index)]
      defer { unsafe free(text) }
      let name = unsafe text.map { unsafe String(cString: $0) } ?? ""
      return InheritedDescriptor(
        number: InheritedDescriptor.first + index, name: name.isEmpty ? InheritedDescriptor.noName : name)
    }
  }

  private static func problem(_ failure: SystemFailure, _ variables: [String: String]) -> String {
    let values = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"].compactMap { name in
      variables[name].map { "\(name)=\($0)" }
    }
    return "no inherited descriptor is used: \(values.joined(separator: " ")): \(failure.reason); "
      + "LISTEN_FDS= must count open descriptors from \(InheritedDescriptor.first) on, and "
      + "LISTEN_FDNAMES= must name each of them"
  }

  /// Managers before systemd 254 do not set FDSTORE; the unit sets a variable in its place.
  package static func storeLimit(_ variables: [String: String]) -> Int {
    let limit = variables["FDSTORE"] ?? variables["IMGD_FDSTORE"] ?? "0"
    return min(max(Int(limit) ?? 0, 0), 1 << 20)
  }
}

/// A descriptor that was open when the process began, under the name that the manager gave it.
package struct InheritedDescriptor: Sendable, Equatable {
  package static let first = SD_LISTEN_FDS_START
  /// The name of a descriptor that was given none.
  package static let noName = "unknown"

  package let number: CInt
  package let name: String
}
