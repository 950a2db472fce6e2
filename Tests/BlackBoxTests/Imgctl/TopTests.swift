import Glibc
import ImgdTestSupport
import Testing

/// `imgctl top` in a real terminal, on a real daemon.
struct TopTests {
  private static let program = BuiltProduct.path(of: "imgctl")

  private let stage: Stage
  private let terminal: TmuxTerminal

  init() throws {
    stage = try Stage("Downloads.Retries=0")
    terminal = try TmuxTerminal(
      columns: 100, rows: 40, environment: ["IMGD_SOCKET": stage.daemon.socket])
  }

  /// Starts `top` between two looks at the terminal's settings.
  private func start(every delay: String = "100ms") throws {
    let directory = terminal.directory.path
    try terminal.enter(
      "stty -g >\(directory)/before; \(Self.program) top -d \(delay); "
        + "echo ended $?; stty -g >\(directory)/after; echo rea''dy")
    // The screen is drawn before the daemon has answered.
    try terminal.wait(for: "the numbers") { $0.contains("hit ratio") && $0.contains("q quit") }
  }

  /// Waits for the end, and checks that the terminal is as it was.
  private func expectEnd(_ code: Int) throws {
    let shown = try terminal.wait(for: "ready")
    #expect(shown.contains("ended \(code)\n"), "\(shown)")
    #expect(!shown.contains("hit ratio"), "the screen before is shown again: \(shown)")
    let settings = ["before", "after"].map { read(terminal.directory.path + "/" + $0) }
    #expect(settings[0] == settings[1] && settings[0]?.isEmpty == false)
    try terminal.enter("echo visi''ble")
    try terminal.wait(for: "visible")
  }

  private func picture(_ path: String) -> String {
    stage.origin.plan(path, .picture(TestPicture.png(bytes: 3_000)))
    return #"{"cmd":"fetch","url":"\#(stage.origin.url(path))","ttl":600}"#
  }

  @Test func `it shows what the daemon does, until q`() throws {
    try start()
    _ = try stage.client.ask(picture("/a.png"))
    try terminal.wait(for: "of 100M, 1 entry")
    stage.origin.plan("/hangs", .silence)
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.origin.url("/hangs"))"}"#)
    let shown = try terminal.wait(for: "/hangs")
    #expect(shown.contains("\n1 fetch\n"))
    #expect(shown.hasPrefix("imgd ") && shown.contains(stage.daemon.socket))
    try terminal.press("q")
    try expectEnd(0)
  }

  @Test(arguments: [(20, 10), (300, 60), (60, 24)])
  func `it follows the size of the terminal`(columns: Int, rows: Int) throws {
    // Nothing but the new size makes it draw again.
    try start(every: "1d")
    try terminal.resize(columns: columns, rows: rows)
    try terminal.wait(for: "\(rows) rows") { shown in
      let lines = shown.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      return lines.count == rows && lines.last?.hasPrefix("q quit") == true
        && lines.first?.hasPrefix("imgd ") == true
    }
    try terminal.press("q")
    try terminal.resize(columns: 100, rows: 40)
    try expectEnd(0)
  }

  @Test func `Control-C ends it as q does`() throws {
    try start()
    try terminal.press("C-c")
    try expectEnd(0)
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT])
  func `a signal that ends it leaves the terminal as it was`(signal: CInt) throws {
    try start()
    kill(try terminal.program(), signal)
    try expectEnd(128 + Int(signal))
  }

  @Test func `it can be stopped and continued`() throws {
    try terminal.enter("set -m")
    try start()
    try terminal.press("C-z")
    // The shell goes on with the rest of its line.
    try terminal.wait(for: "ready")
    #expect(!(try terminal.screen()).contains("hit ratio"))
    try terminal.enter(
      "clear; fg; stty -g >\(terminal.directory.path)/after; echo en''ded 0; echo rea''dy")
    try terminal.wait(for: "q quit")
    try terminal.press("q")
    try expectEnd(0)
  }

  @Test func `a pause holds everything still`() throws {
    try start()
    try terminal.press("p")
    try terminal.wait(for: "paused")
    _ = try stage.client.ask(picture("/a.png"))
    try terminal.press("p")
    try terminal.wait(for: "of 100M, 1 entry")
    try terminal.press("q")
    try expectEnd(0)
  }

  @Test func `it waits for a daemon that has gone`() throws {
    try start()
    stage.daemon.kill()
    let lost = try terminal.wait(for: "no connection: ")
    #expect(lost.contains("hit ratio"), "the last numbers stay")
    try stage.daemon.start()
    try terminal.wait(for: "the connection") {
      !$0.contains("no connection") && $0.contains("q quit")
    }
    try terminal.press("q")
    try expectEnd(0)
  }

  @Test func `without a daemon nothing is drawn`() throws {
    stage.daemon.kill()
    try terminal.enter("\(Self.program) top; echo ended $?")
    let shown = try terminal.wait(for: "ended 3")
    #expect(shown.contains("imgctl: no program listens on"))
  }

  @Test func `a locale without blocks gets plain characters`() throws {
    _ = try stage.client.ask(picture("/a.png"))
    try terminal.enter("LC_ALL=C \(Self.program) top -d 100ms")
    let shown = try terminal.wait(for: "[#")
    #expect(!shown.contains("▏"))
    try terminal.press("q")
  }
}
