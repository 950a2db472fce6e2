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
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    return content(of: FileDescriptor(owning: number), longest: longest)
  }

  /// The rest of a stream, at most `longest` bytes of it.
  static func content(of file: consuming FileDescriptor, longest: Int) -> String? {
    var all: [UInt8] = []
    while all.count < longest {
      var count = 0
      let part = unsafe [UInt8](unsafeUninitializedCapacity: min(longest - all.count, 4096)) {
        room, filled in
        // Fills at most the size of the buffer.
        count = unsafe read(file.number, room.baseAddress, room.count)
        filled = max(count, 0)
      }
      if count < 0, errno == EINTR { continue }
      if count < 0 { return nil }
      if count == 0 { break }
      all += part
    }
    return String(decoding: all, as: UTF8.self)
  }
}
