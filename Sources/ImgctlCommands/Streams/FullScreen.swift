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
    if before == nil {
      var settings = termios()
      // Filled by the call, on this stack.
      guard unsafe tcgetattr(input, &settings) == 0 else { throw SystemFailure("tcgetattr", "the terminal") }
      before = settings
    }
    guard var settings = before else { return }
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    // Reads the settings on this stack.
    unsafe tcsetattr(input, TCSANOW, &settings)
    try write(Array("\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J".utf8))
  }

  /// Gives the terminal back as it was.
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
