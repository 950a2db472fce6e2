import Glibc

/// A descriptor of the process to which text is written.
package struct StandardStream: TextOutputStream {
  private let descriptor: CInt

  /// Prints a program's answer, which is not one of its log entries.
  package static func say(_ text: String) {
    var output = StandardStream(STDOUT_FILENO)
    print(text, terminator: "", to: &output)
  }

  private init(_ descriptor: CInt) { self.descriptor = descriptor }

  /// Writes all of a text, as long as the descriptor takes it.
  package mutating func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard written > 0 else { return }
      rest = rest.dropFirst(written)
    }
  }
}
