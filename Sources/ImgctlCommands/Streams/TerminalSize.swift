import Glibc

/// The size of a terminal in characters.
struct TerminalSize: Equatable {
  var columns = 80
  var rows = 24

  /// The size of the terminal behind a descriptor; 80 × 24 if it is none or does not tell.
  static func of(_ descriptor: CInt) -> TerminalSize {
    var size = winsize()
    // Fills a structure on this stack.
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
    else { return TerminalSize() }
    return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }
}
