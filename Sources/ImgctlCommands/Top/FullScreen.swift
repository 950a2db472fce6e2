// Between `enter` and `leave` the terminal is the program's: another screen, no cursor, and keys that arrive at once
// and unseen. Ctrl-C and Ctrl-Z still send signals, for which the program has to be prepared: it leaves the screen
// first.

import Glibc
import ImgdSystem

/// A terminal that is drawn on as a whole.
final class FullScreen {
  private let input: CInt
  private let write: ([UInt8]) throws(SystemFailure) -> Void
  /// The terminal's settings before `enter`; nil after `leave`.
  private var before: termios?

  init(readingFrom input: CInt, writingBy write: @escaping ([UInt8]) throws(SystemFailure) -> Void) {
    self.input = input
    self.write = write
  }

  /// Takes over the terminal, even if another program has used it since.
  func enter() throws(SystemFailure) {
    var settings = before ?? termios()
    // Filled by the call, on this stack.
    if before == nil, unsafe tcgetattr(input, &settings) != 0 { throw SystemFailure("tcgetattr", "the terminal") }
    before = settings
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    // Reads the settings on this stack.
    unsafe tcsetattr(input, TCSANOW, &settings)
    try write(Array("\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J".utf8))
  }

  func leave() {
    guard var settings = before.take() else { return }
    // A terminal that has gone cannot be written to, and has no settings to restore.
    try? write(Array("\u{1b}[?25h\u{1b}[?1049l".utf8))
    unsafe tcsetattr(input, TCSANOW, &settings)
  }

  /// Draws the lines from the top, over those that are there.
  func draw(_ lines: [String]) throws(SystemFailure) {
    let text = lines.joined(separator: "\u{1b}[K\r\n")
    try write(Array("\u{1b}[H\(text)\u{1b}[K\u{1b}[J".utf8))
  }
}

/// A line of a screen: texts of different styles, cut at the screen's edge.
struct ScreenLine {
  private var parts: [(text: String, style: Style?)] = []
  private(set) var width = 0

  init(_ text: String = "", _ style: Style? = nil) { add(text, style) }

  /// A line of `top` with its label and its value, after which a bar, a plot or a remark may follow.
  init(label: String, _ value: String) {
    self.init(TextWidth.padded(label, to: 10))
    add(TextWidth.padded(value, to: 9, onLeft: true), .heading)
  }

  mutating func add(_ text: String, _ style: Style? = nil) {
    parts.append((text, style))
    width += TextWidth.of(text)
  }

  /// Adds spaces up to a column, at least one.
  mutating func move(to column: Int) { add(String(repeating: " ", count: max(1, column - width))) }

  func drawn(within room: Int, _ palette: Palette) -> String {
    var left = room
    var text = ""
    for part in parts where left > 0 {
      let shown = TextWidth.cut(part.text, to: left)
      text += palette(shown, part.style)
      left -= TextWidth.of(shown)
    }
    return text
  }
}

/// The characters that bars and plots are drawn with.
struct Glyphs: Equatable {
  /// Columns from empty to full.
  let levels: [String]
  /// The last character of a bar, from nearly empty to full.
  let ends: [String]

  static let blocks = Glyphs(
    levels: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"], ends: [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"])
  static let ascii = Glyphs(levels: [" ", "_", ".", "-", "=", "+", "*", "%", "#"], ends: [" ", "#"])

  /// Blocks if the locale's character set is UTF-8, and ASCII otherwise.
  static func of(_ environment: [String: String]) -> Glyphs {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"]
    let locale = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    // As in `en_GB.UTF-8@euro`.
    let charset = locale.split(separator: ".").dropFirst().first?.prefix { $0 != "@" } ?? ""
    return ["utf-8", "utf8"].contains(charset.lowercased()) ? .blocks : .ascii
  }

  /// A bar of a length in cells that is filled up to a share between 0 and 1.
  func bar(_ share: Double, cells: Int) -> String {
    let steps = ends.count - 1
    let filled = Int((min(max(share, 0), 1) * Double(cells * steps)).rounded())
    // Even the smallest share can be seen.
    let shown = share > 0 ? max(filled, 1) : 0
    var text = String(repeating: ends[steps], count: shown / steps)
    if shown % steps > 0 { text += ends[shown % steps] }
    return TextWidth.padded(text, to: cells)
  }

  /// Columns for values from 0 to `top`, the newest at the right end, as rows from top to bottom. A value that is
  /// missing leaves its column empty.
  func plot(_ values: [Double?], top: Double, columns: Int, rows: Int) -> [String] {
    let steps = levels.count - 1
    let shown = values.suffix(max(columns, 0))
    let heights = shown.map { value -> Int in
      guard let value, value > 0, top > 0 else { return 0 }
      return max(1, Int((min(value / top, 1) * Double(rows * steps)).rounded()))
    }
    let margin = String(repeating: " ", count: max(columns - shown.count, 0))
    return (0..<rows).reversed().map { row in
      margin + heights.map { levels[min(max($0 - row * steps, 0), steps)] }.joined()
    }
  }
}
