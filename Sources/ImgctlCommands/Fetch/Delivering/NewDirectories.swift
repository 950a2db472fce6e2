import Glibc
import ImgdSystem

/// Makes directories for pictures.
enum NewDirectories {
  /// Makes a directory and those above it, as far as they are missing.
  static func make(_ path: String) throws(SystemFailure) {
    let bytes = Array(path.utf8)
    for end in bytes.indices.dropFirst() where bytes[end] == UInt8(ascii: "/") {
      let part = String(decoding: bytes[..<end], as: UTF8.self)
      // The path is a C string for the length of the call.
      guard unsafe mkdir(part, 0o777) != 0, errno != EEXIST else { continue }
      let reason = errno
      // A directory above may be one that nobody may write to, or where none can be made.
      if !isDirectory(part) { throw SystemFailure("mkdir", path, errno: reason) }
    }
    if !isDirectory(path) { throw SystemFailure("mkdir", path, errno: ENOTDIR) }
  }

  /// Makes the directories in which a file is to be.
  static func make(for file: String) throws(SystemFailure) {
    guard let slash = file.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
    try make(String(file[...slash]))
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
