import Glibc
import ImgdTestSupport
import ImgdWire

/// Looks at a daemon from the side, over a connection of its own, while a test mistreats it.
final class Witness {
  private let daemon: DaemonProcess
  private let client: TestClient

  init(_ daemon: DaemonProcess) throws {
    self.daemon = daemon
    client = try daemon.connect()
    // The disk tier opens its files while others are served; its answer comes after that.
    _ = try client.ask(#"{"cmd":"entries","tier":"disk"}"#)
  }

  func ask(_ line: String) throws -> JSONValue {
    try client.ask(line)
  }

  /// One number of `stats`.
  func count(_ section: String, _ name: String) throws -> Int {
    let stats = try client.ask(#"{"cmd":"stats"}"#)
    guard let number = stats[section]?[name]?.integer else {
      throw TestFailure("stats has no \(section).\(name)")
    }
    return Int(number)
  }

  /// Asks again and again until a number of `stats` is what it should become; false when it stays
  /// something else.
  func waits(for section: String, _ name: String, toBe wanted: Int) throws -> Bool {
    try becomes { try count(section, name) == wanted }
  }

  /// Whether a ping is answered without waiting for anybody: how long a machine takes that has
  /// other things to do is its own matter.
  func isAnsweredSoon() throws -> Bool {
    let start = ContinuousClock.now
    _ = try client.ask(#"{"cmd":"ping"}"#)
    return ContinuousClock.now - start < Self.soon
  }

  /// Shorter than whatever the daemon may wait for.
  static let soon = Duration.seconds(9)

  /// Whether `stats` and the kernel agree that one client is left and nothing is under way.
  func seesNothingLeft() throws -> Bool {
    // Connections are accepted in turn: when this one is answered, all before it have been seen.
    _ = try daemon.connect().ask(#"{"cmd":"ping"}"#)
    return try waits(for: "clients", "connected", toBe: 1)
      && waits(for: "downloads", "active", toBe: 0)
      && waits(for: "downloads", "queued", toBe: 0)
  }
}

extension DaemonProcess {
  /// What it holds in memory, as the kernel counts it.
  var residentBytes: Int {
    let line = (read("/proc/\(pid)/status") ?? "").split(separator: "\n")
      .first { $0.hasPrefix("VmRSS:") }
    let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (kilobytes ?? 0) * 1024
  }

  /// How many descriptors it has open, as the kernel counts them.
  var openFiles: Int {
    guard let directory = opendir("/proc/\(pid)/fd") else { return -1 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count - 2
  }

  /// The processor time that it has used, in clock ticks.
  var processorTicks: Int {
    let fields = (read("/proc/\(pid)/stat") ?? "").split(separator: " ")
    guard fields.count > 14 else { return 0 }
    return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
  }

  var isRunning: Bool { ChildProcess.isRunning(pid) }
}
