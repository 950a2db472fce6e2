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

  /// Makes the columns wide enough for a row.
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
