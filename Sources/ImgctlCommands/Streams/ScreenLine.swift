/// A line of a screen: texts of different styles, cut at the screen's edge.
struct ScreenLine {
  private var parts: [(text: String, style: Style?)] = []
  /// The cells that the line takes so far.
  private(set) var width = 0

  init() {}

  init(_ text: String, _ style: Style? = nil) { add(text, style) }

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
