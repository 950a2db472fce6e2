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

  /// Writes a line of data.
  func write(_ line: String) throws(SystemFailure) { try output(Array(line.utf8) + [UInt8(ascii: "\n")]) }

  /// Writes a picture as data.
  func write(_ picture: borrowing FileDescriptor) throws(SystemFailure) {
    try OutputFile.read(picture) { bytes throws(SystemFailure) in try output(bytes) }
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
