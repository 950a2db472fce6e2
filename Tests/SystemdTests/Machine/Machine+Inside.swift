import CTestLinux
import Glibc
import ImgdSystem
import ImgdTestSupport

// MARK: Commands

extension Machine {
  private static let environment = [
    "HOME=/root", "LANG=C.UTF-8", "TERM=dumb", "SYSTEMD_PAGER=cat", "SYSTEMD_COLORS=0",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  ]

  /// The way in for a command line, which is ended when it takes too long.
  private func words(for line: String, within seconds: Int) -> [String] {
    // The time limit is inside: else what it ends would keep the machine from being put away.
    ["-t", "\(number)", "-a", "timeout", "-k", "5", "\(seconds)", "sh", "-c", line]
  }

  /// Runs a command line as root: its exit code (124 when it took too long) and all it wrote.
  @discardableResult
  func run(_ line: String, within seconds: Int = 180) throws -> (status: CInt, output: String) {
    let (code, output) = try ChildProcess.run(
      "/usr/bin/nsenter", words(for: line, within: seconds), environment: Self.environment)
    return (code, output)
  }

  /// Runs a command line that must succeed: what it wrote, without the last newline.
  @discardableResult
  func perform(_ line: String, within seconds: Int = 180) throws -> String {
    let (status, output) = try run(line, within: seconds)
    guard status == 0 else { throw TestFailure("\(line): exit code \(status): \(output)") }
    return output.hasSuffix("\n") ? String(output.dropLast()) : output
  }

  /// Starts a command line and does not wait for it: `ChildProcess.wait` does.
  func begin(_ line: String, output: String = "/dev/null", within seconds: Int = 180) throws
    -> pid_t
  {
    try ChildProcess.spawn(
      "/usr/bin/nsenter", words(for: line, within: seconds), output: output,
      environment: Self.environment)
  }
}

// MARK: Files and network

extension Machine {
  /// Where a path of the machine is out here. Links in it that begin with a slash lead astray.
  func path(_ path: String) -> String { "/proc/\(number)/root\(path)" }

  /// Writes a file inside, and the directories that it needs.
  func write(_ text: String, to path: String) throws {
    try makeDirectories(above: self.path(path))
    try ImgdTestSupport.write(text, to: self.path(path))
  }

  /// An origin that listens on the machine's loopback and is served by the test.
  func origin() throws -> OriginServer {
    let made = Shared<Result<OriginServer, any Error>?>(nil)
    let number = self.number
    // A socket stays in the network in which it was made; the thread ends there.
    let thread = try Thread(name: "machine-origin") {
      let origin = Result {
        guard test_enter_network_of(number) == 0 else {
          throw TestFailure("setns: errno \(errno)")
        }
        return try OriginServer()
      }
      made.with { $0 = origin }
    }
    thread.join()
    guard let origin = made.with({ $0 }) else { throw TestFailure("no origin") }
    return try origin.get()
  }

  /// The number out here of a process with this number inside.
  func process(inside: pid_t) throws -> pid_t {
    let home = Self.link("/proc/\(number)/ns/pid")
    for name in TemporaryDirectory.names(in: "/proc") {
      guard let process = pid_t(name), let status = read("/proc/\(process)/status") else {
        continue
      }
      let numbers = status.split(separator: "\n").first { $0.hasPrefix("NSpid:") }
      guard numbers?.split(separator: "\t").last == "\(inside)" else { continue }
      if Self.link("/proc/\(process)/ns/pid") == home { return process }
    }
    throw TestFailure("the machine has no process \(inside)")
  }

  private static func link(_ path: String) -> String? {
    var target = [CChar](repeating: 0, count: 256)
    let count = readlink(path, &target, target.count)
    return count < 0 ? nil : String(decoding: target.prefix(count).map(UInt8.init), as: UTF8.self)
  }
}
