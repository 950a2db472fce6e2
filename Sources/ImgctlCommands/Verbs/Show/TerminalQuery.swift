// A terminal answers a question as if its user typed the answer. So for as long as the answer takes, the terminal must
// neither echo nor gather its input into lines; and what was typed before must not be taken for an answer.

import Glibc
import ImgdSystem

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
    let signals = HeldSignals()
    defer { signals.release() }
    guard let before = settings(of: terminal), change(terminal, to: raw(before)) else { return nil }
    defer { _ = change(terminal, to: before) }
    guard typedAhead(at: terminal) == 0 else { return nil }
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

  private static func settings(of terminal: borrowing FileDescriptor) -> termios? {
    var settings = termios()
    return unsafe tcgetattr(terminal.number, &settings) == 0 ? settings : nil
  }

  /// Changes the settings at once, and discards nothing that was typed.
  private static func change(_ terminal: borrowing FileDescriptor, to settings: termios) -> Bool {
    var settings = settings
    return unsafe tcsetattr(terminal.number, TCSANOW, &settings) == 0
  }

  private static func raw(_ settings: termios) -> termios {
    var settings = settings
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    return settings
  }

  private static func typedAhead(at terminal: borrowing FileDescriptor) -> Int {
    var count: CInt = 0
    return unsafe ioctl(terminal.number, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
  }
}

/// Holds back signals that would end or stop the program before the terminal has its settings back; they arrive later.
private struct HeldSignals {
  private let before: sigset_t

  init() {
    var held = sigset_t()
    unsafe sigemptyset(&held)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] { unsafe sigaddset(&held, number) }
    var before = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, &held, &before)
    self.before = before
  }

  func release() {
    var before = before
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
  }
}
