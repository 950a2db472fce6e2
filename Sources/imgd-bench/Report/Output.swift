import Glibc

/// Standard output and error, a line at a time and never late.
enum Output {
  static func say(_ line: String) { put(line, 1) }

  static func complain(_ line: String) { put(line, 2) }

  private static func put(_ line: String, _ descriptor: CInt) {
    let bytes = Array((line + "\n").utf8)
    // Who closed the terminal does not want the report.
    _ = unsafe write(descriptor, bytes, bytes.count)
  }
}
