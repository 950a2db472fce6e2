import Glibc

/// The system calls of a process, counted by the names of its threads.
package final class SystemCallCount {
  private static let strace = "/usr/bin/strace"
  /// Why nothing can be counted here; nil when it can.
  package static var obstacle: String? {
    access(strace, X_OK) == 0 ? nil : "strace is missing"
  }

  private let directory: String
  private let tracer: pid_t
  private let pid: pid_t
  private var trace: String { directory + "/trace" }

  /// Begins to count what all threads of a process call from now on.
  package init(of pid: pid_t) throws {
    self.pid = pid
    directory = try TemporaryDirectory.make()
    tracer = try ChildProcess.spawn(
      Self.strace, ["-f", "-qq", "-o", directory + "/trace", "-p", "\(pid)"])
    guard try becomes({ isAttached }) else { throw TestFailure("strace does not attach itself") }
  }

  deinit { TemporaryDirectory.remove(directory) }

  private var threads: [String] { TemporaryDirectory.names(in: "/proc/\(pid)/task") }

  private var isAttached: Bool {
    threads.allSatisfy { thread in
      read("/proc/\(pid)/task/\(thread)/status")?.contains("TracerPid:\t\(tracer)\n") == true
    }
  }

  /// Ends the count; answers the calls of each thread by their names.
  package func end() -> [String: [String: Int]] {
    let comms = Dictionary(
      threads.map { ($0, read("/proc/\(pid)/task/\($0)/comm")?.dropLast().description ?? "gone") },
      uniquingKeysWith: { first, _ in first })
    kill(tracer, SIGTERM)
    _ = ChildProcess.wait(tracer)
    var counts: [String: [String: Int]] = [:]
    for line in (read(trace) ?? "").split(separator: "\n") {
      guard let (id, call) = Self.call(inLine: line), let thread = comms[id] else { continue }
      counts[thread, default: [:]][call, default: 0] += 1
    }
    return counts
  }

  /// The thread and the name of the call that begins in a line such as `1234  write(5, …) = 8`. A call that
  /// another thread has interrupted goes on in a line of its own, `1234  <... write resumed>`, which begins
  /// none. strace pads short thread ids.
  package static func call(inLine line: Substring) -> (thread: String, call: String)? {
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, let first = words[1].first, first.isLetter || first == "_",
      let end = words[1].firstIndex(of: "(")
    else { return nil }
    return (String(words[0]), String(words[1][..<end]))
  }
}
