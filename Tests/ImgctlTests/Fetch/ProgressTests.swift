import ImgdConnection
import ImgdSystem
import Testing

@testable import ImgctlCommands

struct ProgressTests {
  private let start = Instant(nanoseconds: 0)

  private func event(_ text: String) throws -> Reply {
    try Reply(Array("{\(text)}".utf8), from: "s")
  }

  /// A board of five: one that moves, one that waits, one in the queue, one done, one failed.
  private func board() throws -> TransferBoard {
    var board = TransferBoard()
    board.total = 5
    for number in 0..<5 { board.ask(number, "http://h/\(number).png") }
    board.update(by: try event(#""event":"queued""#), of: 1, at: start)
    board.update(by: try event(#""event":"started""#), of: 2, at: start)
    board.update(
      by: try event(#""event":"progress","received":51200,"expected":102400"#), of: 0, at: start)
    board.update(
      by: try event(#""event":"progress","received":1024,"expected":1024"#), of: 3, at: start)
    board.settle(3, isFailed: false)
    board.settle(4, isFailed: true)
    return board
  }

  private func text(_ board: TransferBoard, rate: Int? = nil) -> ProgressText {
    ProgressText(
      board: board, rate: rate, elapsed: .seconds(10), now: Instant(nanoseconds: 0))
  }

  @Test func `each transfer has a line, and all together have one`() throws {
    #expect(
      text(try board(), rate: 2048).block(TerminalSize()) == [
        "http://h/0.png  50% of 100K", "http://h/2.png  waiting for h", "http://h/1.png  queued",
        "2 of 5 done, 1 failed, 51K, 2.0K/s",
      ])
  }

  @Test func `a host that asked to wait is named, with the time that is left`() throws {
    var board = TransferBoard()
    board.ask(0, "http://127.0.0.1:91/0.png")
    board.ask(1, "http://h/1.png")
    board.update(by: try event(#""event":"queued","retry_after_ms":13500"#), of: 0, at: start)
    func lines(after seconds: Int) -> [String] {
      ProgressText(board: board, rate: nil, elapsed: .zero, now: start + .seconds(seconds))
        .block(TerminalSize())
    }
    #expect(lines(after: 0)[0].hasSuffix("  127.0.0.1:91 asked to wait, 14s left"))
    #expect(lines(after: 10)[0].hasSuffix("  127.0.0.1:91 asked to wait, 4s left"))
    #expect(lines(after: 20)[0].hasSuffix("  queued"))
    board.update(by: try event(#""event":"queued""#), of: 1, at: start)
    #expect(lines(after: 0)[1].hasSuffix("  queued"))
    board.ask(2, "http://h/2.png")
    board.settle(2, isFailed: true, heldUntil: start + .seconds(9))
    #expect(lines(after: 0)[1].hasSuffix("  h asked to wait, 9s left"))
  }

  @Test func `what else a transfer waits for is told as long as it lasts`() throws {
    var board = TransferBoard()
    board.ask(0, "http://h/0.png")
    board.ask(1, "http://h/1.png")
    board.update(by: try event(#""event":"queued","held":"rate","wait_ms":1500"#), of: 0, at: start)
    board.update(by: try event(#""event":"queued","held":"host_places""#), of: 1, at: start)
    func line(_ number: Int, after seconds: Int) -> String {
      ProgressText(board: board, rate: nil, elapsed: .zero, now: start + .seconds(seconds)).block(TerminalSize())[
        number]
    }
    #expect(line(0, after: 0).hasSuffix("  queued: held to its rate, the next one in 2s"))
    #expect(line(0, after: 2).hasSuffix("  queued"))
    #expect(line(1, after: 60).hasSuffix("  queued: after others from its host"))
  }

  @Test func `no more lines are shown than there is room for`() throws {
    for rows in 1...6 {
      let lines = text(try board()).block(TerminalSize(columns: 80, rows: rows))
      #expect(lines.count <= max(1, rows - 1), "\(lines)")
    }
    let lines = text(try board()).block(TerminalSize(columns: 80, rows: 4))
    #expect(lines.count == 3 && lines[1] == "… and 2 more")
  }

  @Test func `no line is wider than the terminal`() throws {
    var board = try board()
    board.ask(5, "http://日本.example/\u{1B}[2J" + String(repeating: "ü日", count: 200))
    for columns in 1...200 {
      let lines = text(board, rate: 1 << 40).block(TerminalSize(columns: columns, rows: 24))
      #expect(lines.allSatisfy { TextWidth.of($0) < max(2, columns) }, "\(columns): \(lines)")
      #expect(!lines.joined().contains("\u{1B}"))
    }
  }

  @Test(arguments: [
    ("http://example.org/a.png", 24, "http://example.org/a.png"),
    ("http://example.org/a.png", 11, "http:…a.png"), ("abc", 1, "…"), ("abc", 0, "…"),
    ("日本日本日本", 7, "日…本"),
  ])
  func `a URL loses its middle`(text: String, columns: Int, shown: String) {
    #expect(TextWidth.shortened(text, to: columns) == shown)
  }

  @Test func `the time left is that of the bytes, or else of the pictures`() throws {
    var board = TransferBoard()
    board.total = 1
    board.ask(0, "u")
    #expect(text(board, rate: 5).block(TerminalSize()).last == "0 of 1 done")
    board.update(
      by: try event(#""event":"progress","received":1000,"expected":121000"#), of: 0, at: start)
    #expect(
      text(board, rate: 1000).line.hasPrefix("0 of 1 done, 1000 bytes, 1000 bytes/s, 2:00 left"))
    board.total = 41
    for number in 1...10 {
      board.ask(number, "u")
      board.settle(number, isFailed: false)
    }
    #expect(text(board).block(TerminalSize()).last == "10 of 41 done, 1000 bytes, 0:31 left")
  }

  @Test(arguments: [(0, "0:00"), (59, "0:59"), (60, "1:00"), (3599, "59:59"), (3600, "1:00:00")])
  func `times are those of a clock`(seconds: Int, text: String) {
    #expect(ProgressText.clock(seconds) == text)
  }

  @Test func `the rate is that of the last seconds`() {
    var rate = TransferRate()
    #expect(rate.perSecond == nil)
    for second in 0...20 {
      let bytes = second < 10 ? 0 : (second - 10) * 1000
      rate.add(total: bytes, at: Instant(nanoseconds: Int64(second) * 1_000_000_000))
    }
    #expect(rate.perSecond == 1000)
  }

  @Test func `a block is erased as the terminal has broken its lines`() {
    var block = TerminalBlock()
    let wide = TerminalSize(columns: 40, rows: 24)
    let up = "\u{1B}[A\u{1B}[K"
    #expect(block.erasure(wide) == "")
    #expect(block.show([String(repeating: "x", count: 30), "", "y"], wide).contains("\n\ny"))
    #expect(block.shows([String(repeating: "x", count: 30), "", "y"], wide))
    #expect(block.erasure(TerminalSize(columns: 10, rows: 24)) == "\r\u{1B}[K" + up + up + up + up)
    #expect(!block.isShown)
    _ = block.show(["y"], wide)
    #expect(block.erasure(wide) == "\r\u{1B}[K")
  }

  @Test func `hits show nothing, and ask for what would be shown`() throws {
    let daemon = try ScriptedDaemon { request in
      #expect(request.contains(#""progress":true,"events":true"#))
      return [.line(#"{"id":0,"ok":true,"path":"/0"}"#)]
    }
    #expect(imgctl(["fetch", "u"], daemon, onTerminal: true).messages == "")
    for (arguments, onTerminal) in [(["-q"], true), ([], false)] {
      let daemon = try ScriptedDaemon { request in
        #expect(!request.contains("progress"))
        return [.line(#"{"id":0,"ok":true,"path":"/0"}"#)]
      }
      #expect(imgctl(["fetch", "u"] + arguments, daemon, onTerminal: onTerminal).messages == "")
    }
  }
}
