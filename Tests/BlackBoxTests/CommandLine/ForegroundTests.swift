import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The daemon in a terminal, as somebody starts it who wants to try it.
struct ForegroundTests {
  private let stage: Stage
  private let directory: String

  init() throws {
    stage = try Stage()
    directory = stage.daemon.directory + "/foreground"
    guard mkdir(directory, 0o700) == 0 else { throw TestFailure("no directory") }
  }

  /// A daemon of its own whose output goes to a terminal, and what is to be read there.
  private final class WatchedDaemon {
    let socket: String
    private let pid: pid_t
    private let terminal: CInt
    private var said = ""

    init(in directory: String, _ more: [String]) throws {
      socket = directory + "/imgd.sock"
      terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
      // What unlockpt and ptsname do, which Glibc's module does not have.
      var (isLocked, number): (CInt, CInt) = (0, 0)
      guard ioctl(terminal, 0x4004_5431, &isLocked) == 0, ioctl(terminal, 0x8004_5430, &number) == 0
      else { throw TestFailure("no terminal") }
      pid = try ChildProcess.spawn(
        BuiltProduct.path(of: "imgd"),
        ["--config", "/dev/null", "--socket", socket, "--cache-directory", directory + "/cache"]
          + more,
        output: "/dev/pts/\(number)")
    }

    /// The next line.
    func line() throws -> String {
      while !said.contains("\n") {
        var room = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(terminal, &room, room.count)
        guard count > 0 else { throw TestFailure("the terminal has ended after: \(said)") }
        // The terminal writes a return before each newline.
        said += String(decoding: room[..<count].filter { $0 != 0x0D }, as: UTF8.self)
      }
      let lines = said.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
      said = String(lines[1])
      return String(lines[0])
    }

    /// What is left to be read when it has ended.
    func stop() -> String {
      kill(pid, SIGTERM)
      #expect(ChildProcess.wait(pid) == 0)
      while true {
        var room = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(terminal, &room, room.count)
        guard count > 0 else { break }
        said += String(decoding: room[..<count], as: UTF8.self)
      }
      close(terminal)
      return said
    }
  }

  @Test func `a daemon in a terminal says where it listens and keeps pictures, and nothing else`()
    throws
  {
    let daemon = try WatchedDaemon(in: directory, [])
    #expect(
      try daemon.line()
        == "imgd: listens on \(daemon.socket), keeps pictures in \(directory)/cache")
    stage.origin.plan("/a.png", .picture(png()))
    let client = try TestClient(socket: daemon.socket)
    #expect(
      try client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url("/a.png"))"}"#)["ok"]?.bool == true
    )
    #expect(daemon.stop().isEmpty)
  }

  @Test func `a daemon without a disk tier says so`() throws {
    let daemon = try WatchedDaemon(in: directory, ["--set", "Disk.Enabled=no"])
    #expect(
      try daemon.line() == "imgd: listens on \(daemon.socket), keeps pictures in memory only")
    _ = daemon.stop()
  }

  @Test func `a daemon that nobody watches says nothing`() throws {
    try stage.play(
      #"""
      > {"cmd":"ping"}
      < {"ok":true}
      """#)
    #expect(stage.daemon.log.isEmpty)
  }

  @Test func `a verbose daemon has a line for each fetch and each refusal, without secrets`() throws {
    let daemon = try WatchedDaemon(in: directory, ["--verbose"])
    _ = try daemon.line()
    stage.origin.plan("/a.png?key=secret", .picture(png()))
    let url = stage.origin.url("/a.png")
    let client = try TestClient(socket: daemon.socket)
    let fetch = #"{"cmd":"fetch","url":"\#(url)?key=secret"}"#
    // From the third on such a line would not be parsed by a daemon that is not verbose.
    let sources = ["network", "memory", "memory", "memory"]
    for source in sources {
      #expect(try client.ask(fetch)["source"]?.string == source)
      let line = try daemon.line()
      #expect(line.hasPrefix("imgd: fetch \(url): \(source), \(png().count) bytes, "), "\(line)")
      #expect(line.hasSuffix("s"))
    }
    _ = try client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url("/none"))"}"#)
    #expect(try daemon.line().hasPrefix("imgd: fetch \(stage.origin.url("/none")): http_status, "))
    _ = try client.ask(#"{"cmd":"fetch","url":"http://me:secret@h/a","tags":"x"}"#)
    #expect(try daemon.line().contains(#""tags" was "x""#))
    #expect(!daemon.stop().contains("secret"))
  }
}
