import Glibc
import ImgdSystem

/// Makes directories for pictures.
enum NewDirectories {
  /// Makes a directory, unless it exists. Its parents are not made: a mistyped path is an error.
  static func make(_ path: String) throws(SystemFailure) {
    // The path is a C string for the length of the call.
    guard unsafe mkdir(path, 0o777) != 0 else { return }
    let reason = errno
    if !isDirectory(path) { throw SystemFailure("mkdir", path, errno: reason == EEXIST ? ENOTDIR : reason) }
  }

  /// Makes the directories in a file's name, below a directory that exists.
  static func make(for name: String, below directory: String) throws(SystemFailure) {
    let bytes = Array(name.utf8)
    for end in bytes.indices where bytes[end] == UInt8(ascii: "/") {
      try make(directory + "/" + String(decoding: bytes[..<end], as: UTF8.self))
    }
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
