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
