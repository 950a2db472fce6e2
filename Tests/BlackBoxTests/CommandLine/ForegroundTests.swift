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

  private func daemon(_ more: [String] = []) throws -> (WatchedProgram, socket: String) {
    let socket = directory + "/imgd.sock"
    let arguments = ["--config", "/dev/null", "--socket", socket, "--cache-directory", directory + "/cache"]
    return (try WatchedProgram("imgd", arguments + more), socket)
  }

  /// A program whose output goes to a terminal, and what is to be read there.
  private final class WatchedProgram {
    private let pid: pid_t
    private let terminal: CInt
    private var said = ""

    init(_ program: String, _ arguments: [String]) throws {
      terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
      // What unlockpt and ptsname do, which Glibc's module does not have.
      var (isLocked, number): (CInt, CInt) = (0, 0)
      guard ioctl(terminal, 0x4004_5431, &isLocked) == 0, ioctl(terminal, 0x8004_5430, &number) == 0
      else { throw TestFailure("no terminal") }
      pid = try ChildProcess.spawn(
        BuiltProduct.path(of: program), arguments, output: "/dev/pts/\(number)")
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
    let (daemon, socket) = try daemon()
    #expect(
      try daemon.line()
        == "imgd: listens on \(socket), keeps pictures in \(directory)/cache")
    stage.origin.plan("/a.png", .picture(png()))
    let client = try TestClient(socket: socket)
    #expect(
      try client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url("/a.png"))"}"#)["ok"]?.bool == true
    )
    #expect(daemon.stop().isEmpty)
  }

  @Test func `a daemon without a disk tier says so`() throws {
    let (daemon, socket) = try daemon(["--set", "Disk.Enabled=no"])
    #expect(
      try daemon.line() == "imgd: listens on \(socket), keeps pictures in memory only")
    _ = daemon.stop()
  }

  @Test func `a gateway in a terminal says where it listens, what is open, and which daemon it has found`() throws {
    let socket = directory + "/http.sock"
    let version = try TestClient(socket: stage.daemon.socket).ask(#"{"cmd":"hello"}"#)["version"]?.string ?? ""
    let gateway = try WatchedProgram(
      "imgd-http",
      [
        "--config", "/dev/null", "--socket", stage.daemon.socket, "--listen", socket,
        "--set", "HTTP-Gateway.Allow=a.example", "--set", "HTTP-Gateway.Page=no",
      ])
    let lines = [
      "listens on \(socket), as in: curl --unix-socket \(socket) http://localhost/health",
      "pictures are open for the hosts a.example", "the page of the cache is closed, and purges are off",
      "has found imgd \(version) at \(stage.daemon.socket)",
    ]
    for line in lines { #expect(try gateway.line() == "imgd-http: " + line) }
    #expect(gateway.stop().isEmpty)
  }

  @Test func `a gateway that can hand out nothing says what it lacks`() throws {
    let gateway = try WatchedProgram(
      "imgd-http", ["--config", "/dev/null", "--socket", directory + "/none", "--listen", directory + "/http.sock"])
    _ = try gateway.line()
    #expect(try gateway.line().hasPrefix("imgd-http: no picture is open: name hosts, as in --set HTTP-Gateway.Allow="))
    #expect(
      try gateway.line()
        == "imgd-http: the page of the cache is open to browsers of this machine, and purges are off")
    #expect(try gateway.line().hasPrefix("imgd-http: no imgd answers at \(directory)/none, and until one does"))
    #expect(gateway.stop().isEmpty)
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
    let (daemon, socket) = try daemon(["--verbose"])
    _ = try daemon.line()
    stage.origin.plan("/a.png?key=secret", .picture(png()))
    let url = stage.origin.url("/a.png")
    let client = try TestClient(socket: socket)
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
