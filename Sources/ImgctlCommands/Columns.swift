/// Rows of text in aligned columns, two spaces apart.
struct Columns {
  enum Side { case left, right }

  private let sides: [Side]
  private var widths: [Int]

  /// Columns that align their text to one side each. Widths are needed only where lines are printed before all rows are
  /// known.
  init(_ sides: [Side], widths: [Int] = []) {
    self.sides = sides
    self.widths = widths + Array(repeating: 0, count: max(0, sides.count - widths.count))
  }

  mutating func fit(_ row: [String]) {
    for (column, text) in row.enumerated() where column < widths.count {
      widths[column] = max(widths[column], TextWidth.of(text))
    }
  }

  /// A row as a line, without spaces at its end.
  func line(_ row: [String]) -> String { cells(row).joined(separator: "  ") }

  /// The texts of a row, padded to the widths of their columns; no spaces follow the last one.
  func cells(_ row: [String]) -> [String] {
    let last = row.lastIndex { !$0.isEmpty } ?? 0
    return row.prefix(last + 1).enumerated().map { column, text in
      let isLast = column == last && sides[column] == .left
      return isLast ? text : TextWidth.padded(text, to: widths[column], onLeft: sides[column] == .right)
    }
  }

  /// All rows as lines, each column as wide as its widest text.
  static func lines(_ rows: [[String]], _ sides: [Side]) -> [String] {
    var columns = Columns(sides)
    for row in rows { columns.fit(row) }
    return rows.map(columns.line)
  }
}

/// The width of text on a terminal, in cells: most characters take one cell, those of East Asia two, and accents that
/// follow a letter none.
enum TextWidth {
  /// The first and the last code of the characters that take two cells.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff,
    0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f680...0x1f6ff, 0x1f900...0x1f9ff,
    0x20000...0x3fffd,
  ]

  static func of(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + of($1) } }

  /// The text, cut to a number of cells with a mark where something is missing.
  static func cut(_ text: String, to room: Int) -> String {
    guard of(text) > room else { return text }
    return room > 0 ? beginning(of: text.unicodeScalars, within: room - 1) + "…" : ""
  }

  /// A text without its middle, if it is too wide: people recognise a URL by its host and its last part.
  static func shortened(_ text: String, to room: Int) -> String {
    guard of(text) > room else { return text }
    let kept = max(0, room - 1)
    let end = beginning(of: text.unicodeScalars.reversed(), within: kept - kept / 2)
    return beginning(of: text.unicodeScalars, within: kept / 2) + "…"
      + String(String.UnicodeScalarView(end.unicodeScalars.reversed()))
  }

  private static func beginning(of scalars: some Sequence<Unicode.Scalar>, within room: Int) -> String {
    var text = ""
    var left = room
    for scalar in scalars {
      left -= of(scalar)
      guard left >= 0 else { break }
      text.unicodeScalars.append(scalar)
    }
    return text
  }

  static func padded(_ text: String, to width: Int, onLeft: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - of(text)))
    return onLeft ? space + text : text + space
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
  }
}
