import Glibc

extension ProcessFacts {
  /// Reads the facts as the kernel reports them now.
  static func read() -> ProcessFacts {
    let pages = pages
    return ProcessFacts(
      residentBytes: pages.resident * Int(getpagesize()),
      privateBytes: (pages.resident - pages.shared) * Int(getpagesize()), openDescriptors: openDescriptors)
  }

  /// Resident and shared pages, from `/proc/self/statm`.
  private static var pages: (resident: Int, shared: Int) {
    let fields = SmallFile.read("/proc/self/statm")?.split(separator: " ").map { Int($0) ?? 0 }
    guard let fields, fields.count > 2 else { return (0, 0) }
    return (fields[1], fields[2])
  }

  private static var openDescriptors: Int {
    guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
    defer { unsafe closedir(directory) }
    var count = 0
    while unsafe readdir(directory) != nil { count += 1 }
    return count - 3  // ".", ".." and the directory itself
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
