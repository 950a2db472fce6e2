import Glibc
import ImgdTestSupport
import ImgdWire

/// A directory with a socket of the test's own in the place of the service manager, and the daemons
/// that the test starts there as the manager would.
final class ManagedDaemon: @unchecked Sendable {
  // Unchecked: used by one test at a time.
  let directory: String
  let manager: DatagramPeer
  /// What the test listens on, where it is the one who makes the control socket.
  let socket: String
  /// Zero while none runs.
  private(set) var pid: pid_t = 0

  /// One descriptor to be handed over, under its name.
  struct Heirloom {
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

  /// Starts the daemon and says nothing of whether it answers.
  ///
  /// The shell in between knows the number that the daemon will have. `program` is one that becomes
  /// the daemon with the arguments that it is given.
  func start(
    _ settings: [String] = [], variables: [String] = [], inheriting heirlooms: [Heirloom] = [],
    withManager: Bool = true, through program: String = ""
  ) throws {
    let announced = [
      "LISTEN_FDS=\(heirlooms.count)",
      "LISTEN_FDNAMES=" + heirlooms.map(\.name).joined(separator: ":"),
    ]
    pid = try ChildProcess.spawn(
      "/bin/sh",
      [
        "-c", "export LISTEN_PID=$$ WATCHDOG_PID=$$; exec \(program) \"$0\" \"$@\"",
        BuiltProduct.path(of: "imgd"),
      ]
        + ["--socket", socket, "--cache-directory", directory + "/cache"]
        + ["--config", directory + "/imgd.conf"]
        // As for every daemon of a test: the memory of the machine is not for it to feel.
        + (["Memory.Pressure=off"] + settings).flatMap { ["--set", $0] },
      output: directory + "/log",
      environment: ["PATH=/usr/bin:/bin"] + variables
        + (withManager ? ["NOTIFY_SOCKET=\(directory)/notify"] : [])
        + (heirlooms.isEmpty ? [] : announced),
      descriptors: heirlooms.map(\.number))
  }

  /// Starts the daemon and waits until it has told that it is ready.
  func startReady(
    _ settings: [String] = [], variables: [String] = [], inheriting heirlooms: [Heirloom] = []
  ) throws {
    try start(settings, variables: variables, inheriting: heirlooms)
    guard manager.receive(with: "READY=1") != nil else {
      throw TestFailure("imgd does not get ready; it says: \(log)")
    }
  }

  /// Fills the manager's queue, as one that has no time for it would let it be.
  func keepManagerBusy() throws {
    let name = directory + "/notify"
    // A sender has a limit of its own: the queue is full when a fresh one cannot send anything.
    while true {
      let number = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      defer { close(number) }
      guard UnixName.withAddress(of: name, { Glibc.connect(number, $0, $1) }) == 0 else {
        throw TestFailure("\(name): \(String(cString: strerror(errno)))")
      }
      var sent = 0
      while send(number, "busy", 4, CInt(MSG_DONTWAIT)) == 4 { sent += 1 }
      if sent == 0 { return }
    }
  }

  /// Whether it answers in the end, which says that its loop turns.
  func answersPing() -> Bool {
    for _ in 0..<12_000 {
      let answer = try? connect().ask(#"{"cmd":"ping"}"#)
      if answer?["ok"]?.bool == true { return true }
      poll(nil, 0, 5)  // it offers nothing to wait on before it listens
    }
    return false
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
