import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// `imgctl show` in real terminals, compared with the program of the library by which it draws.
@Suite(.enabled(if: access("/usr/bin/chafa", X_OK) == 0))
struct ShownPictureTests {
  private static let program = BuiltProduct.path(of: "imgctl")
  private static let question = "\u{1b}[16t\u{1b}[c"
  /// Cells of 10 by 20 pixels.
  private static let screen = PseudoTerminal.Size(columns: 80, rows: 24, pixels: (800, 480))

  private let stage: Stage
  private let directory = TemporaryDirectory()

  init() throws { stage = try Stage() }

  /// All colours, and where wanted a half that is clear.
  private static func pixels(_ width: Int, _ height: Int, alpha: Bool) -> TestPixels {
    TestPixels(width: width, height: height) { x, y in
      [
        UInt8(x * 255 / width), UInt8(y * 255 / height), UInt8(x * y % 256),
        alpha && x < y ? 0 : 255,
      ]
    }
  }

  /// Plans a picture at the origin, and puts it into a file for chafa.
  private func plan(_ width: Int, _ height: Int, alpha: Bool = false) throws -> (
    url: String, file: String
  ) {
    let pixels = Self.pixels(width, height, alpha: alpha)
    let path = "/\(width)x\(height).png"
    stage.origin.plan(path, .picture(TestPicture.png(pixels)))
    let file = directory.path + path
    // As the daemon has it, whatever the size.
    let run = try imgctl(["fetch", stage.origin.url(path), "-o", file])
    #expect(run.code == 0, "\(run.output)")
    return (stage.origin.url(path), file)
  }

  private func imgctl(
    _ arguments: [String], _ environment: [String] = []
  ) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      Self.program, ["--socket", stage.daemon.socket] + arguments, environment: environment)
  }

  private func terminal(
    _ size: PseudoTerminal.Size = screen, _ environment: [String] = [], _ arguments: String...
  ) throws -> PseudoTerminal {
    try PseudoTerminal(
      size,
      environment: [
        "PATH=/usr/bin:/bin", "TERM=xterm-256color", "IMGD_SOCKET=\(stage.daemon.socket)",
      ] + environment,
      command: [Self.program] + arguments)
  }

  // MARK: Symbols

  @Test(arguments: [
    (["COLORTERM=truecolor"], "full"), (["TERM=xterm-256color"], "256"), (["TERM=xterm"], "16"),
    (["NO_COLOR=1"], "none"), (["TERM=dumb"], "none"),
  ])
  func `where there is no terminal, the symbols are those of chafa`(
    environment: [String], colours: String
  ) throws {
    for (width, height, columns, rows, alpha) in [
      (160, 120, 40, 15, false), (40, 30, 40, 15, true), (16, 16, 16, 8, false),
    ] {
      let picture = try plan(width, height, alpha: alpha)
      let shown = try imgctl(["show", picture.url, "-s", "40x20"], environment)
      let expected = try ChildProcess.run(
        "/usr/bin/chafa",
        [
          "-f", "symbols", "--symbols", "vhalf+space", "-c", colours, "-s", "\(columns)x\(rows)",
          "--stretch", picture.file,
        ], environment: ["TERM=xterm-256color"])
      #expect(shown.code == 0)
      #expect(Self.content(shown.output) == Self.content(expected.output))
    }
  }

  /// Without the cursor that chafa hides and shows, and the end of the last line.
  private static func content(_ text: String) -> String {
    var text = text
    for sequence in ["\u{1b}[?25l", "\u{1b}[?25h", "\r"] {
      text = text.split(separator: sequence, omittingEmptySubsequences: false).joined()
    }
    while text.last == "\n" { text.removeLast() }
    return text
  }

  @Test func `a large picture is scaled by the daemon, for 80 columns where there is no terminal`()
    throws
  {
    let picture = try plan(1000, 400)
    let small = directory.path + "/small.png"
    _ = try imgctl(["fetch", picture.url, "--resize", "640x384", "--format", "png", "-o", small])
    let shown = try imgctl(["show", picture.url], ["COLORTERM=truecolor"])
    let expected = try ChildProcess.run(
      "/usr/bin/chafa",
      [
        "-f", "symbols", "--symbols", "vhalf+space", "-c", "full", "-s", "80x16", "--stretch",
        small,
      ],
      environment: ["TERM=xterm-256color"])
    #expect(Self.content(shown.output) == Self.content(expected.output))
  }

  @Test func `a terminal that does not answer gets symbols, and its settings back`() throws {
    let picture = try plan(20, 10)
    let terminal = try terminal(Self.screen, [], "show", picture.url)
    try terminal.waitFor(Self.question)
    #expect(terminal.waitForEnd() == 0)
    #expect(terminal.isCooked)
    #expect(String(decoding: terminal.received, as: UTF8.self).contains("▄"))
  }

  @Test func `a terminal without pictures gets symbols at once`() throws {
    let picture = try plan(20, 10)
    let terminal = try terminal(Self.screen, [], "show", picture.url)
    try terminal.waitFor(Self.question)
    terminal.type("\u{1b}[?62;22c")
    #expect(terminal.waitForEnd() == 0)
    #expect(terminal.isCooked)
    let text = String(decoding: terminal.received, as: UTF8.self)
    // Neither the answer nor anything else was echoed.
    #expect(text.contains("▄") && !text.contains("62;22"))
  }

  @Test func `an interrupt while the terminal is asked leaves it as it was`() throws {
    let picture = try plan(20, 10)
    let terminal = try terminal(Self.screen, [], "show", picture.url)
    try terminal.waitFor(Self.question)
    terminal.type("\u{3}")
    #expect(terminal.waitForEnd() == 130)
    #expect(terminal.isCooked)
  }

  @Test func `one who types is not asked, and loses nothing`() throws {
    let picture = try plan(20, 10)
    let script = "echo ready; read line; exec \(Self.program) show \(picture.url)"
    let terminal = try PseudoTerminal(
      Self.screen,
      environment: ["TERM=xterm", "PATH=/usr/bin:/bin", "IMGD_SOCKET=\(stage.daemon.socket)"],
      command: ["/bin/sh", "-c", script])
    try terminal.waitFor("ready")
    terminal.type("go\nls -l\n")
    #expect(terminal.waitForEnd() == 0)
    let text = String(decoding: terminal.received, as: UTF8.self)
    #expect(!text.contains(Self.question) && text.contains("▄"))
    #expect(terminal.typedAhead == 6)
  }

  // MARK: Pixels

  @Test func `a terminal with sixels gets those of chafa`() throws {
    let picture = try plan(80, 60)
    let terminal = try terminal(Self.screen, [], "show", picture.url)
    try terminal.waitFor(Self.question)
    terminal.type("\u{1b}[6;20;10t\u{1b}[?62;4;22c")
    #expect(terminal.waitForEnd() == 0)
    let chafa = try PseudoTerminal(
      Self.screen, environment: ["TERM=xterm-256color"],
      command: [
        "/usr/bin/chafa", "-f", "sixel", "-c", "full", "-s", "8x3", "--stretch", picture.file,
      ])
    #expect(chafa.waitForEnd() == 0)
    let sixels = try #require(Self.part(of: terminal.received, from: "\u{1b}P"))
    #expect(sixels.count > 1_000)
    #expect(sixels == Self.part(of: chafa.received, from: "\u{1b}P"))
  }

  @Test func `sixels fit into the terminal that told how large it is`() throws {
    let picture = try plan(1600, 600)
    let terminal = try terminal(
      .init(columns: 40, rows: 11), [], "show", picture.url)
    try terminal.waitFor(Self.question)
    terminal.type("\u{1b}[6;12;6t\u{1b}[?62;4c")
    #expect(terminal.waitForEnd() == 0)
    let sixels = try #require(Self.part(of: terminal.received, from: "\u{1b}P"))
    // 40 columns of 6 pixels; the height follows.
    #expect(String(decoding: sixels, as: UTF8.self).contains("\"1;1;240;90"))
  }

  /// What kitty shows of a picture.
  private func shownByKitty(_ url: String) throws -> [UInt8] {
    let terminal = try terminal(Self.screen, [], "show", url)
    try terminal.waitFor(Self.question)
    terminal.type("\u{1b}_Gi=31;OK\u{1b}\\\u{1b}[6;20;10t\u{1b}[?62;4;22c")
    #expect(terminal.waitForEnd() == 0)
    #expect(terminal.isCooked)
    // After the question, which is written in the same way.
    return try Self.kittyPixels(terminal.received.split(after: Array(Self.question.utf8)))
  }

  @Test func `a terminal with kitty's graphics gets the colours that chafa would send`() throws {
    let picture = try plan(80, 60)
    let chafa = try PseudoTerminal(
      Self.screen, environment: ["TERM=xterm-kitty"],
      command: ["/usr/bin/chafa", "-f", "kitty", "-s", "8x3", "--stretch", picture.file])
    #expect(chafa.waitForEnd() == 0)
    let pixels = try shownByKitty(picture.url)
    #expect(pixels.count == 80 * 60 * 4)
    // chafa 1.12 spoils the last byte of each piece, which is an alpha.
    #expect(Self.colours(pixels) == Self.colours(try Self.kittyPixels(chafa.received)))
  }

  private static func colours(_ pixels: [UInt8]) -> [UInt8] {
    pixels.indices.filter { $0 % 4 != 3 }.map { pixels[$0] }
  }

  @Test func `alpha reaches kitty as it is`() throws {
    let picture = try plan(33, 47, alpha: true)
    let pixels = Self.pixels(33, 47, alpha: true)
    let expected = (0..<47).flatMap { y in (0..<33).flatMap { x in pixels[x, y] } }
    #expect(try shownByKitty(picture.url) == expected)
  }

  /// The bytes from a beginning to the next end of a string.
  private static func part(of bytes: [UInt8], from beginning: String) -> [UInt8]? {
    let rest = bytes.split(before: Array(beginning.utf8))
    guard !rest.isEmpty else { return nil }
    let end = Array("\u{1b}\\".utf8)
    return Array(rest.prefix(rest.count - rest.split(after: end).count))
  }

  /// The decoded payload of all pieces, which chafa encodes one by one.
  private static func kittyPixels(_ bytes: [UInt8]) throws -> [UInt8] {
    var pixels: [UInt8] = []
    for piece in String(decoding: bytes, as: UTF8.self).split(separator: "\u{1b}_G") {
      guard let semicolon = piece.firstIndex(of: ";") else { continue }
      let letters = piece[piece.index(after: semicolon)...].prefix { $0 != "\u{1b}" }
      pixels += try #require(Base64.decode(String(letters)))
    }
    return pixels
  }

  // MARK: Without the library

  @Test(.enabled(if: geteuid() == 0))
  func `without libchafa its package is named, and kitty needs none`() throws {
    let picture = try plan(20, 10)
    let library = try ChildProcess.run(
      "/bin/sh", ["-c", "/sbin/ldconfig -p | sed -n 's/.*libchafa.so.0 .* => //p' | head -n 1"])
    let hide = """
      mount --bind /dev/null \(library.output.dropLast()) && exec \(Self.program) --socket \
      \(stage.daemon.socket) show \(picture.url)
      """
    let run = try ChildProcess.run("/usr/bin/unshare", ["--mount", "/bin/sh", "-c", hide])
    #expect(run.code == 1)
    #expect(run.output.contains("install the package libchafa0"), "\(run.output)")
    let kitty = try ChildProcess.run(
      "/usr/bin/unshare", ["--mount", "/bin/sh", "-c", hide + " --protocol kitty"])
    #expect(kitty.code == 0 && kitty.output.hasPrefix("\u{1b}_Ga=T"))
  }
}

extension [UInt8] {
  /// What begins with the first place of a part; nothing if it is not there.
  fileprivate func split(before part: [UInt8]) -> [UInt8] {
    guard count >= part.count else { return [] }
    for start in 0...(count - part.count) where self[start...].starts(with: part) {
      return Array(self[start...])
    }
    return []
  }

  /// What follows the first place of a part.
  fileprivate func split(after part: [UInt8]) -> [UInt8] {
    Array(split(before: part).dropFirst(part.count))
  }
}
