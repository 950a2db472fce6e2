import Glibc

/// The kernel's figures of this process.
enum ProcessFacts {
  /// Resident memory in bytes, from `/proc/self/statm`.
  static var residentBytes: Int {
    guard let text = SmallFile.read("/proc/self/statm") else { return 0 }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
  }

  /// How many descriptors are open.
  static var openDescriptors: Int {
    guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
    defer { unsafe closedir(directory) }
    var count = 0
    while unsafe readdir(directory) != nil { count += 1 }
    return count - 3  // ".", ".." and the one that looks
  }
}

/// A file of a few kilobytes, read whole.
private enum SmallFile {
  static func read(_ path: String) -> String? {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    defer { close(number) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(number, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }
}
