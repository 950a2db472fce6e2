import Glibc
import ImgdSystem
import ImgdWire

/// The place where pictures are shown: its size, and what it can draw.
struct Screen {
  /// What is assumed of a screen that does not tell its size.
  private static let usual = CellSize(columns: 80, rows: 24)
  private static let usualCell = PixelSize(width: 10, height: 20)

  /// The columns and rows that a picture may take.
  let cells: CellSize
  let cell: PixelSize
  let hasKittyPictures: Bool
  let hasSixels: Bool

  init(_ context: Context, limit: CellLimit) {
    var (room, cell) = (Self.usual, Self.usualCell)
    var replies = TerminalReplies()
    if context.console.terminals.output {
      var measures = winsize()
      // Fills in a value of this type, which lives on this stack; zeros stay where the terminal does not tell.
      _ = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &measures)
      let (columns, rows) = (Int(measures.ws_col), Int(measures.ws_row))
      if columns > 0, rows > 0 {
        // The prompt that follows needs a line, and must not push the picture out.
        room = CellSize(columns: columns, rows: max(1, rows - 1))
        let (width, height) = (Int(measures.ws_xpixel), Int(measures.ws_ypixel))
        if width > 0, height > 0 { cell = PixelSize(width: max(1, width / columns), height: max(1, height / rows)) }
      }
      if TerminalQuery.isUseful(in: context.environment) { replies = TerminalQuery.ask() ?? replies }
    }
    cells = limit.applied(to: room)
    self.cell = replies.cell ?? cell
    hasKittyPictures = replies.hasKittyPictures
    hasSixels = replies.hasSixels
  }
}

struct PixelSize: Equatable {
  var width: Int
  var height: Int
}

/// A size in the cells of a terminal, each of which holds one letter.
struct CellSize: Equatable {
  var columns: Int
  var rows: Int
}

/// The most columns and rows that the user grants to a picture.
struct CellLimit: Equatable {
  var columns: Int?
  var rows: Int?

  /// Reads `40x20`, `40x` or `x20`.
  init(_ text: String?) throws(UsageProblem) {
    guard let text else { return }
    guard let (columns, rows) = SidesText.sides(of: text, within: 1...10_000) else {
      throw UsageProblem("--size \(printable(text)) is not a number of columns and rows: write 40x20, 40x or x20")
    }
    self.columns = columns
    self.rows = rows
  }

  func applied(to size: CellSize) -> CellSize { CellSize(columns: columns ?? size.columns, rows: rows ?? size.rows) }
}

// A terminal answers a question as if its user typed the answer. So for as long as the answer takes, the terminal must
// neither echo nor gather its input into lines; and what was typed before must not be taken for an answer.

/// The question to a terminal: which pictures it can draw, and how large its cells are.
enum TerminalQuery {
  /// A terminal that does not answer is a slow or a simple one.
  private static let patience = Duration.seconds(1)

  /// Can it draw kitty's pictures? How large is a cell? What is it? All terminals answer the last question.
  private static let question = "\u{1b}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1b}\\\u{1b}[16t\u{1b}[c"

  /// Whether the terminal understands the question; one that does not would show it.
  static func isUseful(in environment: [String: String]) -> Bool {
    !["", "dumb", "linux"].contains(environment["TERM"] ?? "")
  }

  /// The answers; nil if there is no terminal to ask, or if the user is typing.
  static func ask() -> TerminalReplies? {
    guard let terminal = try? FileDescriptor(opening: "/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK) else { return nil }
    // Signals that would end or stop the program before the terminal has its settings back arrive later.
    var signals = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &signals)
    SignalWatch.block([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP])
    defer { unsafe pthread_sigmask(SIG_SETMASK, &signals, nil) }
    var before = termios()
    guard unsafe tcgetattr(terminal.number, &before) == 0 else { return nil }
    var raw = before
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    // The settings change at once, and nothing that was typed is discarded.
    guard unsafe tcsetattr(terminal.number, TCSANOW, &raw) == 0 else { return nil }
    defer { _ = unsafe tcsetattr(terminal.number, TCSANOW, &before) }
    var typedAhead: CInt = 0
    guard unsafe ioctl(terminal.number, UInt(FIONREAD), &typedAhead) != 0 || typedAhead == 0 else { return nil }
    let bytes = Array(question.utf8)
    guard unsafe write(terminal.number, bytes, bytes.count) == bytes.count else { return nil }
    return answer(of: terminal)
  }

  private static func answer(of terminal: borrowing FileDescriptor) -> TerminalReplies {
    var replies = TerminalReplies()
    let deadline = Instant.current + patience
    while !replies.isComplete, isReadable(terminal, until: deadline) {
      // One at a time: what follows the last answer is the user's.
      var byte: UInt8 = 0
      guard unsafe read(terminal.number, &byte, 1) == 1 else { break }
      replies.read(byte)
    }
    return replies
  }

  private static func isReadable(_ terminal: borrowing FileDescriptor, until deadline: Instant) -> Bool {
    let left = (deadline - .current).milliseconds
    guard left > 0 else { return false }
    var interest = pollfd(fd: terminal.number, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&interest, 1, CInt(clamping: left)) > 0
  }
}

/// The answers of a terminal, read byte by byte.
struct TerminalReplies: Equatable {
  /// Longer than any answer.
  private static let longest = 256
  private static let escape: UInt8 = 0x1b

  private(set) var hasKittyPictures = false
  private(set) var hasSixels = false
  private(set) var cell: PixelSize?
  /// Whether the answer to the last question has come.
  private(set) var isComplete = false
  /// The bytes of an answer that has begun.
  private var sequence: [UInt8] = []

  mutating func read(_ byte: UInt8) {
    if sequence.isEmpty, byte != Self.escape { return }
    sequence.append(byte)
    switch sequence.count > 1 ? sequence[1] : 0 {
    case UInt8(ascii: "["):
      // The final byte of a control sequence.
      if sequence.count > 2, 0x40...0x7e ~= byte { readSequence(endingIn: byte) }
    case UInt8(ascii: "_"): if byte == UInt8(ascii: "\\"), sequence[sequence.count - 2] == Self.escape { endOfString() }
    case 0: return
    default: sequence = []
    }
    if sequence.count > Self.longest { sequence = [] }
  }

  /// `ESC [ 6 ; height ; width t`, or `ESC [ ? number ; ... c`, where 4 among the numbers means sixels.
  private mutating func readSequence(endingIn final: UInt8) {
    defer { sequence = [] }
    let text = String(decoding: sequence.dropFirst(2).dropLast(), as: UTF8.self)
    let numbers = text.drop { $0 == "?" }.split(separator: ";").map { Int($0) ?? -1 }
    if final == UInt8(ascii: "t"), numbers.count == 3, numbers[0] == 6, 1...1000 ~= numbers[1], 1...1000 ~= numbers[2] {
      cell = PixelSize(width: numbers[2], height: numbers[1])
    } else if final == UInt8(ascii: "c"), text.hasPrefix("?") {
      hasSixels = numbers.dropFirst().contains(4)
      isComplete = true
    }
  }

  /// `ESC _ G i=31 ; OK ESC \`
  private mutating func endOfString() {
    let text = String(decoding: sequence.dropFirst(2).dropLast(2), as: UTF8.self)
    if text.hasPrefix("Gi=31"), text.hasSuffix(";OK") { hasKittyPictures = true }
    sequence = []
  }
}
