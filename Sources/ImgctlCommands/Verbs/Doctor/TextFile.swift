import Glibc
import ImgdSystem

/// Small files that the system shows.
enum TextFile {
  static func isThere(_ path: String) -> Bool {
    // The path is a C string for the length of the call.
    unsafe access(path, F_OK) == 0
  }

  /// The beginning of a file, at most `longest` bytes; nil if it cannot be read.
  static func content(of path: String, longest: Int) -> String? {
    let bytes = try? FileDescriptor(opening: path, O_RDONLY).rest(longest, of: path)
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}
