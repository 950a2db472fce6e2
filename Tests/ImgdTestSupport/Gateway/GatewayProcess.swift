import Glibc

/// A running `imgd-http` of this build before a daemon, on a socket in a temporary directory.
package final class GatewayProcess: @unchecked Sendable {
  // Unchecked: only the test that owns it uses `pid`, the only variable.
  package let socket: String
  package private(set) var pid: pid_t
  private let directory: String

  /// Starts it, and waits until it listens; `settings` are those of `[HTTP-Gateway]`.
  package init(before daemon: String, _ settings: [String] = ["Allow=127.0.0.1"]) throws {
    directory = try TemporaryDirectory.make()
    socket = directory + "/http.sock"
    pid = try ChildProcess.spawn(
      BuiltProduct.path(of: "imgd-http"),
      ["--config", "/dev/null", "--socket", daemon, "--listen", socket]
        + settings.flatMap { ["--set", "HTTP-Gateway." + $0] }, output: directory + "/log")
    try ChildProcess.awaitStart(of: pid, saying: log) {
      guard let connection = try? connect(to: socket) else { return false }
      close(connection)
      return true
    }
  }

  deinit {
    if pid > 0 {
      Glibc.kill(pid, SIGKILL)
      _ = ChildProcess.wait(pid)
    }
    TemporaryDirectory.remove(directory)
  }

  package var log: String { read(directory + "/log") ?? "" }

  /// Asks it to stop, without waiting.
  package func beginStop() {
    Glibc.kill(pid, SIGTERM)
  }

  /// Waits for its end; the exit code, or minus the signal.
  package func waitForEnd() -> CInt {
    defer { pid = 0 }
    return ChildProcess.wait(pid)
  }

  /// Asks over a connection of its own.
  package func get(
    _ target: String, _ fields: [String] = [], method: String = "GET", host: String = "localhost"
  ) throws -> HTTPAnswer {
    let connection = try HTTPConversation(socket)
    try connection.send(target, fields, method: method, host: host)
    return try connection.answer(isHead: method == "HEAD")
  }

  /// Asks for a picture of an origin, with further parameters.
  package func fetch(
    _ url: String, _ form: String = "", _ fields: [String] = []
  ) throws -> HTTPAnswer {
    try get("/fetch?url=\(url)\(form)", fields)
  }
}
