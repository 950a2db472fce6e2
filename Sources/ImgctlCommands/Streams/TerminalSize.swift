import Glibc

/// The size of a terminal, in columns and rows of characters.
struct TerminalSize: Equatable {
  var columns = 80
  var rows = 24

  /// The size of the terminal behind a descriptor. If there is none, or it does not know its size, COLUMNS and LINES
  /// give the size, which is otherwise 80 by 24.
  static func of(_ descriptor: CInt, environment: [String: String] = [:]) -> TerminalSize {
    var window = winsize()
    // Filled by the call, on this stack.
    _ = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &window)
    return TerminalSize(
      columns: chosen(Int(window.ws_col), environment["COLUMNS"], 80),
      rows: chosen(Int(window.ws_row), environment["LINES"], 24))
  }

  private static func chosen(_ known: Int, _ variable: String?, _ usual: Int) -> Int {
    if known > 0 { return known }
    guard let number = variable.flatMap({ Int($0) }), (1...10_000).contains(number) else { return usual }
    return number
  }
}
