import Glibc
import ImgdSystem

/// The streams of imgctl; data and messages go to different streams.
package struct Console {
  let output: ([UInt8]) throws(SystemFailure) -> Void
  let message: (String) -> Void
  let messagesGoToTerminal: Bool
  let input: () throws(SystemFailure) -> [UInt8]

  /// The streams the program was started with.
  package static var standard: Console {
    Console(
      output: { bytes throws(SystemFailure) in
        try OutputFile.writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
      },
      message: { text in
        // A message that cannot be written does not make the command fail.
        try? OutputFile.writeAll(Array(text.utf8), to: STDERR_FILENO, named: "standard error")
      },
      messagesGoToTerminal: isatty(STDERR_FILENO) == 1,
      input: readStandardInput)
  }

  /// Writes a line of data.
  func write(_ line: String) throws(SystemFailure) {
    try output(Array(line.utf8) + [UInt8(ascii: "\n")])
  }

  /// Writes a picture as data.
  func write(_ picture: borrowing FileDescriptor) throws(SystemFailure) {
    try OutputFile.read(picture) { bytes throws(SystemFailure) in try output(bytes) }
  }

  /// Writes a message that begins with the program's name.
  func complain(_ sentence: String) {
    message("imgctl: \(printable(sentence))\n")
  }

  private static func readStandardInput() throws(SystemFailure) -> [UInt8] {
    var all: [UInt8] = []
    while true {
      var count = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { room, filled in
        // Fills at most the size of the buffer.
        count = unsafe read(STDIN_FILENO, room.baseAddress, room.count)
        filled = max(count, 0)
      }
      if count == 0 { return all }
      guard count > 0 || errno == EINTR else { throw SystemFailure("read", "standard input") }
      all += bytes
    }
  }
}
