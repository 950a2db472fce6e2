import Glibc
import ImgdTestSupport

/// What the kernel says of a process.
struct ProcessFacts {
  let descriptors: Int
  let threads: Int
  /// Its own memory.
  let anonymousBytes: Int

  init(_ pid: pid_t) {
    let lines = (read("/proc/\(pid)/status") ?? "").split(separator: "\n")
    func number(_ name: String) -> Int {
      let line = lines.first { $0.hasPrefix(name + ":") }
      return line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) } ?? 0
    }
    descriptors = TemporaryDirectory.names(in: "/proc/\(pid)/fd").count
    threads = number("Threads")
    anonymousBytes = number("RssAnon") << 10
  }

  /// Those that a process has started, but for what is left of those that have ended.
  static func children(of pid: pid_t) -> [pid_t] {
    let all = TemporaryDirectory.names(in: "/proc/\(pid)/task").flatMap { task in
      (read("/proc/\(pid)/task/\(task)/children") ?? "").split(separator: " ").compactMap { pid_t($0) }
    }
    return all.filter { ![nil, "Z"].contains(ChildProcess.state(of: $0)) }
  }
}
