private import CBench

/// What the kernel knows about a process.
struct ProcessFacts {
  let pid: Int32

  init(_ child: Child) {
    pid = child.pid
  }

  /// Processor time of all its living threads, in seconds.
  var processorTime: Double {
    let nanoseconds = threads.map { thread in
      Double((File.text("\(thread)/schedstat") ?? "0").prefix { $0 != " " }) ?? 0
    }
    return nanoseconds.reduce(0, +) / 1e9
  }

  /// How often its threads went to sleep of their own will, and so were woken.
  var sleeps: Int {
    threads.reduce(0) { $0 + Self.field("voluntary_ctxt_switches", of: "\($1)/status") }
  }

  var residentBytes: Int { kilobytes("VmRSS") }
  var anonymousBytes: Int { kilobytes("RssAnon") }
  var memfdBytes: Int { Int(bench_memfd_bytes(pid)) }

  private var threads: [String] {
    File.names(in: "/proc/\(pid)/task").map { "/proc/\(pid)/task/\($0)" }
  }

  private func kilobytes(_ name: String) -> Int {
    Self.field(name, of: "/proc/\(pid)/status") * 1024
  }

  private static func field(_ name: String, of path: String) -> Int {
    let lines = (File.text(path) ?? "").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix(name + ":") }) else { return 0 }
    return Int(line.filter { $0.isNumber }) ?? 0
  }
}
