import Testing

@testable import ImgctlCommands

struct DrawingTests {
  @Test(arguments: [("", 0), ("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("🖼", 2)])
  func `text is as wide as a terminal shows it`(text: String, width: Int) {
    #expect(TextWidth.of(text) == width)
  }

  @Test(arguments: [
    ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字漢", 5, "漢字…"), ("漢字漢", 4, "漢…"), ("ab", 1, "…"),
    ("ab", 0, ""),
  ])
  func `text is cut to cells`(text: String, room: Int, shown: String) {
    #expect(TextWidth.cut(text, to: room) == shown)
  }

  @Test(arguments: [
    (0, "    "), (0.001, "▏   "), (0.5, "██  "), (0.53, "██▏ "), (1, "████"), (7, "████"),
    (-1, "    "),
  ])
  func `bars have eighths`(share: Double, text: String) {
    #expect(Glyphs.blocks.bar(share, cells: 4) == text)
  }

  @Test func `plots end with the newest value`() {
    let values: [Double?] = [9, 1, nil, 0, 4, 8]
    #expect(Glyphs.blocks.plot(values, top: 8, columns: 5, rows: 1) == ["▁  ▄█"])
    #expect(Glyphs.blocks.plot(values, top: 8, columns: 7, rows: 2) == [" █    █", " █▂  ██"])
    #expect(Glyphs.ascii.plot(values, top: 0, columns: 2, rows: 1) == ["  "])
  }

  @Test(arguments: [
    (["LANG": "de_DE.UTF-8@euro"], true), (["LANG": "C", "LC_ALL": "C.utf8"], true),
    (["LANG": "C.UTF-8", "LC_ALL": "C"], false), (["LC_ALL": "", "LANG": "en_GB.UTF-8"], true),
    ([:], false),
  ])
  func `blocks are for locales that have them`(environment: [String: String], hasBlocks: Bool) {
    #expect((Glyphs.of(environment) == .blocks) == hasBlocks)
  }

  @Test func `a line is cut between its colours`() {
    var line = ScreenLine("abc", .bad)
    line.add("def")
    let palette = Palette(.always, isTerminal: true, environment: [:])
    #expect(line.drawn(within: 5, palette) == "\u{1b}[31mabc\u{1b}[0md…")
    #expect(line.drawn(within: 2, palette) == "\u{1b}[31ma…\u{1b}[0m")
  }

  @Test(arguments: [
    (Manner.Colour.auto, true, ["TERM": "xterm"], true), (.auto, false, ["TERM": "xterm"], false),
    (.auto, true, ["TERM": "dumb"], false), (.auto, true, [:], false),
    (.auto, true, ["TERM": "xterm", "NO_COLOR": "1"], false),
    (.auto, true, ["TERM": "xterm", "NO_COLOR": ""], true),
    (.always, false, ["NO_COLOR": "1"], true),
    (.never, true, ["TERM": "xterm"], false),
  ])
  func `colours follow the wish, the terminal and the environment`(
    wish: Manner.Colour, isTerminal: Bool, environment: [String: String], isColoured: Bool
  ) {
    let palette = Palette(wish, isTerminal: isTerminal, environment: environment)
    #expect(palette.isColoured == isColoured)
  }

  @Test func `columns are aligned, and end with their text`() {
    let lines = Columns.lines(
      [["A", "NUMBER", "B"], ["long", "1", ""], ["x", "22", "漢"]], [.left, .right, .left])
    #expect(lines == ["A     NUMBER  B", "long       1", "x         22  漢"])
  }

  @Test func `a terminal's size comes from it, or the environment, or is usual`() {
    #expect(TerminalSize.of(-1) == TerminalSize(columns: 80, rows: 24))
    let environment = ["COLUMNS": "132", "LINES": "-1"]
    #expect(TerminalSize.of(-1, environment: environment) == TerminalSize(columns: 132, rows: 24))
  }
}
