// The block is at the bottom of what has been printed, with the cursor at the end of its last line. A terminal that
// became narrower has broken the lines that no longer fit; nearly all terminals do that.

/// The lines at the bottom of a terminal that are replaced in place.
struct TerminalBlock {
  private var lines: [String] = []
  private var size = TerminalSize()

  var isShown: Bool { !lines.isEmpty }

  /// Whether the terminal shows just these lines.
  func shows(_ lines: [String], _ size: TerminalSize) -> Bool { self.lines == lines && self.size == size }

  /// The text that erases the block and leaves the cursor at the beginning of its place.
  mutating func erasure(_ size: TerminalSize) -> String {
    guard isShown else { return "" }
    let rows = lines.reduce(0) { rows, line in rows + max(1, (TextWidth.of(line) + size.columns - 1) / size.columns) }
    lines = []
    // Row by row: a terminal that is told to erase all that it shows may keep that text in its history.
    let above = String(repeating: "\u{1B}[A\u{1B}[K", count: min(rows, size.rows) - 1)
    return "\r\u{1B}[K" + above
  }

  /// The text that shows lines where the cursor is.
  mutating func show(_ lines: [String], _ size: TerminalSize) -> String {
    self.lines = lines
    self.size = size
    return lines.joined(separator: "\n")
  }
}
