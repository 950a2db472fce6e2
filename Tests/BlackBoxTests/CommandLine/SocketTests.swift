import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The place where the daemon listens, and everything that may be in the way there.
struct SocketTests {
  private static let imgd = BuiltProduct.path(of: "imgd")

  private func run(_ socket: String, _ more: [String] = []) throws -> (code: CInt, output: String) {
    try ChildProcess.run(Self.imgd, Self.arguments(socket) + more)
  }

  /// Pictures lie beside the socket, and never where an installed daemon has its own.
  private static func arguments(_ socket: String) -> [String] {
    ["--config", "/dev/null", "--socket", socket, "--cache-directory", socket + ".cache"]
  }

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode : nil
  }

  @Test func `owner and group may connect`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let socket = directory + "/imgd.sock"
    // A shell's: this process has one for all of its tests.
    let pid = try ChildProcess.spawn(
      "/bin/sh", ["-c", "umask 077; exec \"$0\" \"$@\"", Self.imgd] + Self.arguments(socket),
      output: directory + "/log")
    #expect(try waitsForAnswer(socket))
    #expect(mode(socket) == S_IFSOCK | 0o660)
    kill(pid, SIGTERM)
    #expect(ChildProcess.wait(pid) == 0)
  }

  @Test func `a socket in use is left to its daemon`() throws {
    let first = try DaemonProcess()
    let client = try first.connect()
    let instance = try client.ask(#"{"cmd":"hello"}"#)["instance"]?.string
    for _ in 0..<3 {
      let (code, output) = try run(first.socket)
      #expect(code == EX_UNAVAILABLE)
      #expect(
        output == "imgd: error: \(first.socket) is served by another daemon that is running\n")
    }
    #expect(try first.connect().ask(#"{"cmd":"hello"}"#)["instance"]?.string == instance)
    #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
  }

  @Test func `a socket of a daemon that is gone is replaced`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let socket = directory + "/imgd.sock"
    for _ in 0..<2 {
      let pid = try ChildProcess.spawn(
        Self.imgd, Self.arguments(socket), output: directory + "/log")
      #expect(try waitsForAnswer(socket))
      kill(pid, SIGKILL)
      #expect(ChildProcess.wait(pid) == -SIGKILL)
      #expect(mode(socket) != nil)
    }
    let pid = try ChildProcess.spawn(
      Self.imgd, Self.arguments(socket), output: directory + "/log")
    #expect(try waitsForAnswer(socket))
    kill(pid, SIGTERM)
    #expect(ChildProcess.wait(pid) == 0)
    #expect(mode(socket) == nil, "a clean stop removes the socket")
  }

  @Test func `only one of two simultaneous starts serves`() throws {
    for _ in 0..<5 {
      let directory = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(directory) }
      let socket = directory + "/imgd.sock"
      let pids = try (0..<4).map { _ in
        try ChildProcess.spawn(
          Self.imgd, Self.arguments(socket), output: directory + "/log")
      }
      #expect(try waitsForAnswer(socket))
      let winner = try TestClient(socket: socket).ask(#"{"cmd":"stats"}"#)["process"]?["pid"]?
        .integer
      for pid in pids where Int64(pid) != winner {
        #expect(ChildProcess.wait(pid) == EX_UNAVAILABLE)
      }
      let survivor = try #require(pids.first { Int64($0) == winner })
      #expect(ChildProcess.isRunning(survivor))
      kill(survivor, SIGTERM)
      #expect(ChildProcess.wait(survivor) == 0)
    }
  }

  private func waitsForAnswer(_ socket: String) throws -> Bool {
    try becomes { (try? TestClient(socket: socket).ask(#"{"cmd":"ping"}"#)) != nil }
  }

  @Test func `a file at the socket's path is left unchanged`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    try write("precious", to: directory + "/file")
    mkdir(directory + "/directory", 0o755)
    symlink(directory + "/file", directory + "/link")
    for name in ["file", "directory", "link"] {
      let (code, output) = try run(directory + "/" + name)
      #expect(code == EX_CANTCREAT)
      #expect(output.split(separator: "\n").count == 1)
      #expect(output.contains("is not a socket"), "\(output)")
    }
    #expect(read(directory + "/file") == "precious")
  }

  @Test func `a path that is too long is a configuration error`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let path = directory + "/" + String(repeating: "s", count: 108 - directory.utf8.count - 1)
    #expect(path.utf8.count == 108)
    let (code, output) = try run(path)
    #expect(code == EX_CONFIG)
    #expect(output.contains("107"), "\(output)")
    #expect(try ChildProcess.run("/bin/ls", ["-A", directory]).output == "")
  }

  @Test func `a directory that cannot be written is reported`() throws {
    // No user can create files in /proc, not even root.
    let (code, output) = try run("/proc/imgd.sock")
    #expect(code == EX_CANTCREAT)
    #expect(output.split(separator: "\n").count == 1)
    #expect(output.contains("/proc/imgd.sock"))
    #expect(try run("/nonexistent/deeper/imgd.sock").code == EX_CANTCREAT)
    #expect(access("/nonexistent", F_OK) != 0)
  }

  @Test func `a check of the configuration touches no socket`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    #expect(try run(directory + "/imgd.sock", ["--check-config"]).code == 0)
    #expect(try run(directory + "/imgd.sock", ["--set", "Memory.Capacity=x"]).code == EX_CONFIG)
    #expect(try ChildProcess.run("/bin/ls", ["-A", directory]).output == "")
  }
}
