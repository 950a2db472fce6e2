import Glibc
import ImgdWire

/// A running `imgd` of this build, with socket and cache in a temporary directory.
///
/// It can be stopped and started again with the same cache.
package final class DaemonProcess: @unchecked Sendable {
  // Unchecked: only the test that owns it uses `pid`, the only variable.
  package let directory: String
  package let socket: String
  /// The cache directory, unless a setting names another.
  package let cacheDirectory: String
  /// Zero while it is not running.
  package private(set) var pid: pid_t = 0
  private let words: [String]

  /// Starts it and waits until it answers. The caller removes a cache directory that it passes. `wrapper` is
  /// a program, with its arguments, that becomes the daemon, as `env` does.
  package init(
    settings: [String] = [], configuration: String? = nil, cacheDirectory: String? = nil,
    program: String = BuiltProduct.path(of: "imgd"), wrapper: [String] = []
  ) throws {
    directory = try TemporaryDirectory.make()
    socket = directory + "/imgd.sock"
    self.cacheDirectory = cacheDirectory ?? directory + "/cache"
    let file = configuration == nil ? "/dev/null" : directory + "/imgd.conf"
    words =
      wrapper + [program, "--socket", socket, "--cache-directory", self.cacheDirectory]
      + ["--config", file]
      // The memory pressure of the machine must not affect the tests.
      + (["Memory.Pressure=off"] + settings).flatMap { ["--set", $0] }
    if let configuration { try write(configuration, to: file) }
    try start()
  }

  deinit {
    kill()
    TemporaryDirectory.remove(directory)
  }

  // MARK: Stopping and starting

  /// Starts the stopped daemon again and waits until it answers.
  package func start() throws {
    precondition(pid == 0, "the daemon runs: end it first")
    pid = try ChildProcess.spawn(
      words[0], Array(words.dropFirst()), output: directory + "/log")
    try waitUntilItAnswers()
  }

  /// Stops it with SIGTERM; returns its exit code.
  @discardableResult
  package func stop() -> CInt {
    signal(SIGTERM)
    return waitForEnd()
  }

  /// Stops it with SIGKILL, like a crash.
  package func kill() {
    guard pid > 0 else { return }
    signal(SIGKILL)
    _ = waitForEnd()
  }

  /// Stops it with SIGTERM and starts it again.
  package func restart() throws {
    let code = stop()
    guard code == 0 else { throw TestFailure("imgd ended with \(code); it says: \(log)") }
    try start()
  }

  package func connect() throws -> TestClient {
    try TestClient(socket: socket)
  }

  package func signal(_ number: CInt) {
    // Zero would signal this process and its whole group.
    precondition(pid > 0, "the daemon has ended")
    Glibc.kill(pid, number)
  }

  /// Whether it was started, and has ended by itself.
  package var hasEnded: Bool { pid > 0 && !ChildProcess.isRunning(pid) }

  /// Waits until it has ended by itself; returns its exit code, or minus the signal.
  package func waitForEnd() -> CInt {
    defer { pid = 0 }
    return ChildProcess.wait(pid)
  }

  /// Its output so far.
  package var log: String { read(directory + "/log") ?? "" }

  /// Replaces the configuration file that it was started with.
  package func rewrite(configuration: String) throws {
    try write(configuration, to: directory + "/imgd.conf")
  }

  private func waitUntilItAnswers() throws {
    try ChildProcess.awaitStart(of: pid, saying: log) {
      // It answers before its index is loaded; a test's counters should not change by themselves.
      let disk = (try? connect().ask(#"{"cmd":"stats"}"#))?["disk"]
      return disk != nil && disk?["loading"] == nil
    }
  }
}

package struct TestFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}
