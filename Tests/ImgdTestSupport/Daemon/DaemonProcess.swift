import Glibc

/// A daemon of the test's own: the built `imgd` with a socket in a directory of its own.
package final class DaemonProcess: @unchecked Sendable {
  // Unchecked: what changes (`pid`) is touched by the test that owns it alone.
  package let directory: String
  package let socket: String
  package private(set) var pid: pid_t = 0

  /// Starts it and waits until it answers.
  package init(settings: [String] = [], configuration: String? = nil) throws {
    directory = try TemporaryDirectory.make()
    socket = directory + "/imgd.sock"
    var arguments = ["--socket", socket, "--cache-directory", directory + "/cache"]
    if let configuration {
      try write(configuration, to: directory + "/imgd.conf")
      arguments += ["--config", directory + "/imgd.conf"]
    } else {
      arguments += ["--config", "/dev/null"]
    }
    for setting in settings { arguments += ["--set", setting] }
    pid = try ChildProcess.spawn(
      BuiltProduct.path(of: "imgd"), arguments, output: directory + "/log")
    try waitUntilItAnswers()
  }

  deinit {
    if pid > 0 {
      kill(pid, SIGKILL)
      _ = ChildProcess.wait(pid)
    }
    TemporaryDirectory.remove(directory)
  }

  package func connect() throws -> TestClient {
    try TestClient(socket: socket)
  }

  package func signal(_ number: CInt) {
    kill(pid, number)
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
    for _ in 0..<2_000 {
      if let client = try? TestClient(socket: socket) {
        try client.send(#"{"cmd":"ping"}"#)
        if (try? client.receive()) != nil { return }
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
