/// How many files a process may have open, as the kernel shows it to everybody.
struct OpenFileLimit {
  let count: Int

  /// The limit of a daemon; nil if the number is not that of a process called imgd here, such as one in a container.
  init?(pid: Int) {
    guard Self.text("/proc/\(pid)/comm") == "imgd\n", let limits = Self.text("/proc/\(pid)/limits") else { return nil }
    self.init(limits)
  }

  /// Reads the kernel's table.
  init?(_ limits: String) {
    for line in limits.split(separator: "\n") where line.hasPrefix("Max open files") {
      let columns = line.dropFirst("Max open files".count).split(separator: " ")
      guard let count = columns.first.flatMap({ Int($0) }) else { return nil }
      self.count = count
      return
    }
    return nil
  }

  private static func text(_ path: String) -> String? { TextFile.content(of: path, longest: 1 << 16) }
}
