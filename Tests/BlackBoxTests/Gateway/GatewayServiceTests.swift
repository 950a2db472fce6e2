import Glibc
import ImgdTestSupport
import Testing

/// The gateway as a service manager sees it.
final class GatewayServiceTests {
  private let directory: String
  private let manager: DatagramPeer
  private let socket: String
  private var pid: pid_t = 0

  init() throws {
    directory = try TemporaryDirectory.make()
    manager = try DatagramPeer(directory + "/notify")
    socket = directory + "/http.sock"
  }

  deinit {
    if pid > 0 {
      kill(pid, SIGKILL)
      _ = ChildProcess.wait(pid)
    }
    TemporaryDirectory.remove(directory)
  }

  private var log: String { read(directory + "/log") ?? "" }

  /// Starts it as the manager would: the shell knows its process id in advance.
  private func start(
    listen: String, passing descriptors: [CInt] = [], named name: String = "http"
  ) throws {
    let announced = ["LISTEN_FDS=\(descriptors.count)", "LISTEN_FDNAMES=\(name)"]
    pid = try ChildProcess.spawn(
      "/bin/sh",
      [
        "-c", "export LISTEN_PID=$$; exec \"$0\" \"$@\"", BuiltProduct.path(of: "imgd-http"),
        "-c", "/dev/null", "--socket", directory + "/imgd.sock", "--listen", listen,
      ],
      output: directory + "/log",
      environment: ["PATH=/usr/bin:/bin", "NOTIFY_SOCKET=\(directory)/notify"]
        + (descriptors.isEmpty ? [] : announced),
      descriptors: descriptors)
  }

  private func startReady(listen: String, passing descriptors: [CInt] = []) throws {
    try start(listen: listen, passing: descriptors)
    try #require(manager.receive(with: "READY=1") != nil, "\(log)")
  }

  private func end(_ signal: CInt = SIGTERM) -> CInt {
    defer { pid = 0 }
    kill(pid, signal)
    return ChildProcess.wait(pid)
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal ends it, and the manager is told so before`(signal: CInt) throws {
    try startReady(listen: socket)
    #expect(end(signal) == 0)
    #expect(manager.receive(with: "STOPPING=1") != nil)
    #expect(access(socket, F_OK) != 0)
    #expect(log == "")
  }

  @Test func `a hang-up is no reason to end`() throws {
    try startReady(listen: socket)
    kill(pid, SIGHUP)
    #expect(end() == 0, "a program that the first signal had ended would say so")
  }

  @Test func `a second one at the same place is told that it is taken`() throws {
    try startReady(listen: socket)
    let (code, output) = try ChildProcess.run(
      BuiltProduct.path(of: "imgd-http"), ["-c", "/dev/null", "--listen", socket])
    #expect(code == EX_UNAVAILABLE, "\(output)")
    #expect(end() == 0)
  }

  @Test func `the socket of the manager stays, and is used whatever the configuration says`() throws {
    let listener = try UnixName.listening(at: socket)
    defer { close(listener) }
    try startReady(listen: directory + "/other.sock", passing: [listener])
    #expect(end() == 0)
    #expect(access(socket, F_OK) == 0 && access(directory + "/other.sock", F_OK) != 0)
    #expect(log.contains("other.sock is not used: systemd has made the socket"), "\(log)")
  }

  @Test func `a socket by another name is closed and named`() throws {
    let listener = try UnixName.listening(at: socket)
    defer { close(listener) }
    try start(listen: directory + "/own.sock", passing: [listener], named: "control")
    try #require(manager.receive(with: "READY=1") != nil, "\(log)")
    #expect(access(directory + "/own.sock", F_OK) == 0)
    #expect(end() == 0)
    #expect(log.contains("closed what was inherited as 'control'"), "\(log)")
  }

  @Test func `clients of one that cannot start are disconnected, and the manager has the reason`()
    throws
  {
    let listener = try UnixName.listening(at: socket)
    defer { close(listener) }
    let client = try TestClient(socket: socket)
    try start(listen: "nowhere", passing: [listener])
    #expect(ChildProcess.wait(pid) == EX_CONFIG)
    pid = 0
    #expect(try client.isClosedByDaemon())
    #expect(manager.drain().contains { $0.text.contains("HTTP-Gateway.Listen=nowhere is not") })
  }
}
