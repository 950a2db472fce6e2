import Glibc
import ImgdTestSupport
import Testing

/// `imgctl fetch` in a real terminal.
struct FetchTerminalTests {
  private static let picture = TestPicture.png(bytes: 4_000, seed: 1)

  private let origin: OriginServer
  private let daemon: DaemonProcess

  init() throws {
    origin = try OriginServer()
    daemon = try DaemonProcess(settings: ["Downloads.Retries=0", "Downloads.MaxActive=2"])
    origin.plan("/a.png", .picture(Self.picture))
    origin.plan("/silent.png", .silence)
  }

  private func terminal(columns: Int = 80, rows: Int = 24) throws -> TmuxTerminal {
    try TmuxTerminal(
      columns: columns, rows: rows,
      environment: [
        "IMGD_SOCKET": daemon.socket, "O": origin.url(""),
        "PATH": Self.programs + ":/usr/bin:/bin",
      ])
  }

  private static var programs: String {
    String(BuiltProduct.path(of: "imgctl").dropLast("/imgctl".count))
  }

  @Test func `each transfer is shown while it goes on`() throws {
    let (half, rest) = (Gate(), Gate())
    origin.plan("/half.png", .body(Self.picture, heldAfter: 2_000, at: half))
    origin.plan("/late.png", .held(at: rest, then: .picture(Self.picture)))
    origin.plan("/third.png", .picture(Self.picture))
    let terminal = try terminal(columns: 200)
    try terminal.enter("clear; imgctl fetch -l $O/half.png $O/late.png $O/third.png $O/404")
    let shown = try terminal.waitForLines("progress") { lines in
      lines.contains { $0.contains("/half.png") && $0.contains("% of 3.9K") }
        && lines.contains { $0.hasSuffix("waiting for \(origin.host)") }
        && lines.contains { $0.hasSuffix("queued: after others") }
    }
    #expect(shown.last?.hasPrefix("0 of 4 done") == true, "\(shown)")
    half.open()
    rest.open()
    let lines = try terminal.waitForPrompt()
    #expect(lines.count == 5, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("imgctl: \(origin.url("/404"))") }, "\(lines)")
    let printed = lines.filter { $0.hasPrefix(daemon.cacheDirectory) }
    #expect(printed.count == 3)
    #expect(!lines.joined().contains("done") && !lines.joined().contains("queued"))
  }

  @Test func `a hit shows nothing but its path`() throws {
    let terminal = try terminal(columns: 200)
    try terminal.enter("clear; imgctl fetch $O/a.png; imgctl fetch $O/a.png")
    let lines = try terminal.waitForLines("two paths") { $0.count == 3 && $0.last == "$" }
    #expect(lines[0] == lines[1] && lines[0].hasPrefix(daemon.cacheDirectory), "\(lines)")
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)])
  func `an interrupt leaves a clean line and no fetch`(signal: CInt, code: Int) throws {
    let terminal = try terminal()
    let directory = TemporaryDirectory()
    let note = directory.path + "/pid"
    try terminal.enter(
      "clear; sh -c 'echo $$ >\(note); exec imgctl fetch \(origin.url("/silent.png"))'")
    try terminal.wait(for: "waiting for \(origin.host)")
    if signal == SIGINT {
      try terminal.press("C-c")
    } else {
      let text = try #require(read(note)?.split(separator: "\n").first)
      kill(try #require(pid_t(text)), signal)
    }
    let lines = try terminal.waitForLines("prompt") { $0.last == "$" }
    #expect(!lines.joined().contains("waiting for"), "\(lines)")
    try terminal.enter("echo rc=$?")
    try terminal.wait(for: "rc=\(code)")
    #expect(origin.waitForOpenConnections(0))
  }

  @Test func `the block follows the size of the terminal`() throws {
    let gate = Gate()
    let name = String(repeating: "long-", count: 20) + "name.png"
    origin.plan("/" + name, .held(at: gate, then: .picture(Self.picture)))
    let terminal = try terminal(columns: 100, rows: 16)
    try terminal.enter("clear; imgctl fetch $O/404 $O/\(name) $O/silent.png; echo rc=$?")
    try terminal.wait(for: "waiting for")
    for (columns, rows) in [(120, 16), (60, 16), (40, 6)] {
      try terminal.resize(columns: columns, rows: rows)
      let lines = try terminal.waitForLines("block of \(columns) columns") { lines in
        let block = lines.suffix(3)
        let width = block.map(\.count).max() ?? 0
        return lines.last?.hasPrefix("1 of 3 done, 1 failed") == true && width < columns
          && (width > columns / 2)
      }
      #expect(lines.count { $0.contains("of 3 done") } == 1, "\(lines)")
      // A terminal that becomes narrower may push lines out of the screen, where nothing erases them.
      let screen = try terminal.lines(withHistory: false)
      #expect(screen.count { $0.contains("waiting for") } <= 2, "\(screen)")
    }
    // The complaint above is still there.
    #expect(try terminal.lines().contains { $0.hasPrefix("imgctl: http://") })
    gate.open()
    try terminal.wait(for: "2 of 3 done, 1 failed")
    try terminal.press("C-c")
    let lines = try terminal.waitForPrompt()
    #expect(lines.contains("rc=130") && !lines.joined().contains("done"), "\(lines)")
  }

  @Test func `a picture is not written to the terminal`() throws {
    let terminal = try terminal(columns: 200)
    for command in ["fetch -o - $O/a.png", "cat $O/a.png"] {
      try terminal.enter("clear; imgctl \(command)")
      let lines = try terminal.waitForLines("refusal") { $0.count == 2 && $0.last == "$" }
      #expect(lines[0].hasPrefix("imgctl: standard output is a terminal: "), "\(lines)")
    }
    #expect(origin.count("/a.png") == 0)
  }

  @Test func `a list that is typed is fetched line by line`() throws {
    let terminal = try terminal(columns: 200)
    try terminal.enter("clear; imgctl fetch - -l; echo rc=$?")
    try terminal.enter(origin.url("/a.png"))
    try terminal.waitForLines("path") { $0.contains { $0.hasPrefix(daemon.cacheDirectory) } }
    try terminal.enter(origin.url("/404"))
    try terminal.wait(for: "answers with status 404")
    try terminal.press("C-d")
    try terminal.wait(for: "rc=9")
  }

  @Test func `without a terminal progress is lines`() throws {
    let gate = Gate()
    origin.plan("/late.png", .held(at: gate, then: .picture(Self.picture)))
    let directory = TemporaryDirectory()
    let output = directory.path + "/output"
    let pid = try ChildProcess.spawn(
      BuiltProduct.path(of: "imgctl"),
      ["--socket", daemon.socket, "fetch", origin.url("/late.png"), "--progress"], output: output)
    let line = "0 of 1 done; \(origin.url("/late.png")): waiting for \(origin.host)\n"
    var text = ""
    let isThere = try becomes {
      text = read(output) ?? ""
      return text.hasPrefix(line)
    }
    #expect(isThere && !text.contains("\u{1B}"), "\(text)")
    gate.open()
    #expect(ChildProcess.wait(pid) == 0)
  }
}

extension OriginServer {
  /// The host as a URL has it.
  fileprivate var host: String { "127.0.0.1:\(port)" }
}
