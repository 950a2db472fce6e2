/// The ways in which text stands out on a terminal.
enum Style: String {
  case heading = "1"
  case faint = "2"
  case bad = "31"
  case good = "32"
  case doubtful = "33"
  case accent = "36"
}

/// Colours text for a terminal that shows colours, and leaves it alone otherwise.
struct Palette {
  let isColoured: Bool

  /// Colours are used when asked for, and by default where the stream is a terminal, NO_COLOR is empty and TERM
  /// is not `dumb`.
  init(_ wish: Manner.Colour, isTerminal: Bool, environment: [String: String]) {
    isColoured =
      switch wish {
      case .always: true
      case .never: false
      case .auto:
        isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && !["", "dumb"].contains(environment["TERM"] ?? "")
      }
  }

  func callAsFunction(_ text: String, _ style: Style?) -> String {
    guard isColoured, let style, !text.isEmpty else { return text }
    return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
  }
}

extension Context {
  /// The colours of what goes to standard output.
  var palette: Palette { Palette(manner.colour, isTerminal: console.terminals.output, environment: environment) }
}
