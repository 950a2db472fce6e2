import Glibc
import ImgdTestSupport
import ImgdWire

/// A directory with a socket of the test in the place of the service manager, and the daemons that
/// the test starts there as the manager would.
final class ManagedDaemon: @unchecked Sendable {
  // Unchecked: used by one test at a time.
  let directory: String
  let manager: DatagramPeer
  /// The path of the control socket, also where the test itself makes the socket.
  let socket: String
  /// Zero while none runs.
  private(set) var pid: pid_t = 0

  /// A descriptor to be passed, under its name.
  struct PassedDescriptor {
    let number: CInt
    let name: String
  }

  init(configuration: String = "") throws {
    directory = try TemporaryDirectory.make()
    manager = try DatagramPeer(directory + "/notify")
    socket = directory + "/control"
    try configure(configuration)
  }

  deinit {
    if pid > 0 {
      kill(pid, SIGKILL)
      _ = ChildProcess.wait(pid)
    }
    TemporaryDirectory.remove(directory)
  }

  func configure(_ text: String) throws {
    try write(text, to: directory + "/imgd.conf")
  }

  /// Starts the daemon without waiting until it answers.
  ///
  /// The shell in between knows the daemon's process id in advance. `program` is a command that
  /// executes the daemon with the arguments that it gets.
  func start(
    _ settings: [String] = [], variables: [String] = [], inheriting passed: [PassedDescriptor] = [],
    withManager: Bool = true, through program: String = ""
  ) throws {
    let announced = [
      "LISTEN_FDS=\(passed.count)",
      "LISTEN_FDNAMES=" + passed.map(\.name).joined(separator: ":"),
    ]
    pid = try ChildProcess.spawn(
      "/bin/sh",
      [
        "-c", "export LISTEN_PID=$$ WATCHDOG_PID=$$; exec \(program) \"$0\" \"$@\"",
        BuiltProduct.path(of: "imgd"),
      ]
        + ["--socket", socket, "--cache-directory", directory + "/cache"]
        + ["--config", directory + "/imgd.conf"]
        // As for every daemon of a test: the machine's memory pressure must not affect it.
        + (["Memory.Pressure=off"] + settings).flatMap { ["--set", $0] },
      output: directory + "/log",
      environment: ["PATH=/usr/bin:/bin"] + Sanitizer.variables + variables
        + (withManager ? ["NOTIFY_SOCKET=\(directory)/notify"] : [])
        + (passed.isEmpty ? [] : announced),
      descriptors: passed.map(\.number))
  }

  /// Starts the daemon and waits until it has notified that it is ready.
  func startReady(
    _ settings: [String] = [], variables: [String] = [], inheriting passed: [PassedDescriptor] = []
  ) throws {
    try start(settings, variables: variables, inheriting: passed)
    guard manager.receive(with: "READY=1") != nil else {
      throw TestFailure("imgd does not get ready; it says: \(log)")
    }
  }

  /// Whether it answers in the end, which shows that its loop turns.
  func answersPing() throws -> Bool {
    try becomes { (try? connect().ask(#"{"cmd":"ping"}"#))?["ok"]?.bool == true }
  }

  /// What it has written so far.
  var log: String { read(directory + "/log") ?? "" }

  func connect() throws -> TestClient { try TestClient(socket: socket) }

  func signal(_ number: CInt) {
    precondition(pid > 0, "the daemon has ended")
    kill(pid, number)
  }

  /// Waits until it has ended; its exit code, or minus the signal.
  func waitForEnd() -> CInt {
    defer { pid = 0 }
    return ChildProcess.wait(pid)
  }

  /// Ends it in good order; its exit code.
  func stop() -> CInt {
    signal(SIGTERM)
    return waitForEnd()
  }
}
