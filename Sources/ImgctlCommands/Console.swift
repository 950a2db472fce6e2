import Glibc
import ImgdSystem

/// The streams of imgctl: data goes to the output, everything else to the messages.
package struct Console {
  let output: ([UInt8]) throws(SystemFailure) -> Void
  let message: (String) -> Void
  /// The descriptor from which URLs and answers of people are read.
  let input: CInt
  let terminals: Terminals
  /// The size of the terminal that shows the messages; it may change at any time.
  var size: () -> TerminalSize = { TerminalSize() }
  /// Whether the output takes more data without waiting.
  var outputHasRoom: () -> Bool = { true }

  /// The streams that are terminals.
  struct Terminals {
    var input = false
    var output = false
    var messages = false
  }

  /// The streams the program was started with.
  package static var standard: Console {
    Console(
      output: { bytes throws(SystemFailure) in
        try OutputFile.writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
      },
      message: { text in
        // A message that cannot be written does not make the command fail.
        try? OutputFile.writeAll(Array(text.utf8), to: STDERR_FILENO, named: "standard error")
      }, input: STDIN_FILENO,
      terminals: Terminals(
        input: isatty(STDIN_FILENO) == 1, output: isatty(STDOUT_FILENO) == 1, messages: isatty(STDERR_FILENO) == 1),
      size: { TerminalSize.of(STDERR_FILENO) },
      outputHasRoom: {
        var interest = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&interest, 1, 0) > 0
      })
  }

  /// Writes a message that begins with the program's name.
  func complain(_ sentence: String) { message("imgctl: \(withoutPasswords(printable(sentence)))\n") }

  /// Writes a message that is not a complaint.
  func remark(_ sentence: String) { message(withoutPasswords(printable(sentence)) + "\n") }

  /// Asks a person at the terminal; nil where there is none.
  func confirms(_ question: String) throws(SystemFailure) -> Bool? {
    guard terminals.input, terminals.messages else { return nil }
    message(question + " [y/N] ")
    let answer = try readInput(atMost: 64)
    return answer.first == UInt8(ascii: "y") || answer.first == UInt8(ascii: "Y")
  }

  /// The next bytes of the input; none at its end.
  func readInput(atMost limit: Int) throws(SystemFailure) -> [UInt8] {
    try FileDescriptor.part(limit, from: input, of: "standard input")
  }
}

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

/// A text in which the passwords of URLs are hidden: `http://me:…@host/`.
func withoutPasswords(_ text: String) -> String {
  guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
  let bytes = Array(text.utf8)
  let scheme = Array("://".utf8)
  var shown: [UInt8] = []
  var rest = bytes[...]
  while let start = position(of: scheme, in: rest) {
    shown += rest[..<start]
    rest = rest[start...]
    let authority = rest.prefix { !endsAuthority($0) }
    if let at = authority.lastIndex(of: UInt8(ascii: "@")),
      let colon = authority[..<at].firstIndex(of: UInt8(ascii: ":"))
    {
      shown += rest[...colon] + Array("…".utf8)
      rest = rest[at...]
    }
  }
  return String(decoding: shown + rest, as: UTF8.self)
}

/// Whether a URL has a user name, with a password or without.
func hasUserName(_ url: String) -> Bool {
  let bytes = Array(url.utf8)
  guard let start = position(of: Array("://".utf8), in: bytes[...]) else { return false }
  return bytes[start...].prefix { !endsAuthority($0) }.contains(UInt8(ascii: "@"))
}

/// The position after the first occurrence of some bytes.
private func position(of wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
  var rest = bytes
  while rest.count >= wanted.count {
    if rest.starts(with: wanted) { return rest.startIndex + wanted.count }
    rest = rest.dropFirst()
  }
  return nil
}

/// Whether a byte ends the part of a URL that may have a password; in JSON a quote ends the URL itself.
private func endsAuthority(_ byte: UInt8) -> Bool { byte <= 0x20 || "/?#\\\"'<>".utf8.contains(byte) }
