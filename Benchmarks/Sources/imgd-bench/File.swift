import Glibc

/// Reads and writes whole small files.
enum File {
  /// The bytes of a file, or nil when it cannot be read.
  static func read(_ path: String) -> [UInt8]? {
    let file = openFile(path, O_RDONLY)
    guard file.number >= 0 else { return nil }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      // read fills at most the block it is given.
      let count = unsafe Glibc.read(file.number, &block, block.count)
      guard count > 0 else { return count == 0 ? bytes : nil }
      bytes.append(contentsOf: block[..<count])
    }
  }

  // Paths reach the kernel as C strings that live as long as the call.
  private static func openFile(_ path: String, _ flags: CInt) -> Descriptor {
    unsafe Descriptor(owning: open(path, flags | O_CLOEXEC, 0o644))
  }

  static func isProgram(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }

  static func text(_ path: String) -> String? {
    read(path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Writes a new file, or replaces what is there.
  static func write(_ bytes: [UInt8], to path: String) throws(BenchFailure) {
    let file = openFile(path, O_WRONLY | O_CREAT | O_TRUNC)
    guard file.number >= 0 else { throw .system("open", path) }
    var done = 0
    while done < bytes.count {
      // write takes at most the bytes that are left of the array.
      let count = unsafe bytes[done...].withUnsafeBytes {
        unsafe Glibc.write(file.number, $0.baseAddress, $0.count)
      }
      guard count > 0 else { throw .system("write", path) }
      done += count
    }
  }

  static func makeDirectory(_ path: String) throws(BenchFailure) {
    guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else { throw .system("mkdir", path) }
  }

  static func remove(_ path: String) throws(BenchFailure) {
    guard unsafe unlink(path) == 0 else { throw .system("unlink", path) }
  }

  static func names(in directory: String) -> [String] {
    guard let entries = unsafe opendir(directory) else { return [] }
    // The entry lives until the next readdir; its name is copied before.
    defer { unsafe _ = closedir(entries) }
    var names: [String] = []
    while let entry = unsafe readdir(entries) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  static func target(ofLink path: String) -> String? {
    var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe target.withUnsafeMutableBytes {
      guard let room = $0.baseAddress else { return -1 }
      return unsafe readlink(path, room, $0.count)
    }
    return count > 0 ? String(decoding: target[..<count], as: UTF8.self) : nil
  }
}
