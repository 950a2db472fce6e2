import Glibc
import ImgdWire

/// A daemon of the test's own: the built `imgd` with a socket and a cache in a directory of its own.
///
/// It can end and start again: what it had on disk is there.
package final class DaemonProcess: @unchecked Sendable {
  // Unchecked: what changes (`pid`) is touched by the test that owns it alone.
  package let directory: String
  package let socket: String
  /// Where it keeps pictures, if no setting says otherwise.
  package let cacheDirectory: String
  /// Zero while none runs.
  package private(set) var pid: pid_t = 0
  private let arguments: [String]

  /// Starts it and waits until it answers. A cache directory that is named is the test's to remove.
  package init(
    settings: [String] = [], configuration: String? = nil, cacheDirectory: String? = nil
  ) throws {
    directory = try TemporaryDirectory.make()
    socket = directory + "/imgd.sock"
    self.cacheDirectory = cacheDirectory ?? directory + "/cache"
    let file = configuration == nil ? "/dev/null" : directory + "/imgd.conf"
    arguments =
      ["--socket", socket, "--cache-directory", self.cacheDirectory, "--config", file]
      // What happens to the memory of the machine that runs the tests is not for them to feel.
      + (["Memory.Pressure=off"] + settings).flatMap { ["--set", $0] }
    if let configuration { try write(configuration, to: file) }
    try start()
  }

  deinit {
    kill()
    TemporaryDirectory.remove(directory)
  }

  // MARK: Ending and starting again

  /// Starts the daemon that has ended, as it was started before, and waits until it answers.
  package func start() throws {
    precondition(pid == 0, "the daemon runs: end it first")
    pid = try ChildProcess.spawn(
      BuiltProduct.path(of: "imgd"), arguments, output: directory + "/log")
    try waitUntilItAnswers()
  }

  /// Ends it in good order; its exit code.
  @discardableResult
  package func stop() -> CInt {
    signal(SIGTERM)
    return waitForEnd()
  }

  /// Ends it as a crash would.
  package func kill() {
    guard pid > 0 else { return }
    signal(SIGKILL)
    _ = waitForEnd()
  }

  /// Ends it in good order, and starts it again.
  package func restart() throws {
    let code = stop()
    guard code == 0 else { throw TestFailure("imgd ended with \(code); it says: \(log)") }
    try start()
  }

  package func connect() throws -> TestClient {
    try TestClient(socket: socket)
  }

  package func signal(_ number: CInt) {
    // Zero would be this process and all its kin.
    precondition(pid > 0, "the daemon has ended")
    Glibc.kill(pid, number)
  }

  /// Waits until it has ended by itself; its exit code, or minus the signal.
  package func waitForEnd() -> CInt {
    defer { pid = 0 }
    return ChildProcess.wait(pid)
  }

  /// What it has written so far.
  package var log: String { read(directory + "/log") ?? "" }

  /// Replaces the configuration file that it was started with.
  package func rewrite(configuration: String) throws {
    try write(configuration, to: directory + "/imgd.conf")
  }

  private func waitUntilItAnswers() throws {
    for _ in 0..<12_000 {
      if let client = try? TestClient(socket: socket) {
        // Ready it is before its index is read; what a test counts should not change by itself.
        let disk = (try? client.ask(#"{"cmd":"stats"}"#))?["disk"]
        if let disk, disk["loading"] == nil { return }
      }
      guard ChildProcess.isRunning(pid) else { break }
      poll(nil, 0, 5)  // the daemon offers nothing to wait on before it listens
    }
    throw TestFailure("imgd does not answer; it says: \(log)")
  }
}

package struct TestFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}
