private import CBench

/// Reads the kernel's figures of a process.
struct ProcessMeter {
  let pid: Int32

  init(_ child: Child) {
    pid = child.pid
  }

  init(pid: Int32) {
    self.pid = pid
  }

  /// The processes that its threads have started.
  var children: [Int32] {
    File.names(in: "/proc/\(pid)/task").flatMap { thread in
      (File.text("/proc/\(pid)/task/\(thread)/children") ?? "").split(separator: " ")
        .compactMap { Int32($0) }
    }
  }

  /// Processor time of all its living threads, in seconds.
  var processorTime: Double {
    get throws(BenchFailure) {
      try sum { thread throws(BenchFailure) in
        guard let text = File.text("\(thread)/schedstat"),
          let nanoseconds = Int(text.prefix { $0 != " " })
        else { throw .unavailable("\(thread) tells no processor time") }
        return nanoseconds
      } / 1e9
    }
  }

  /// How long the main thread, which is a daemon's control loop, has waited for a processor, in seconds.
  var delay: Double {
    get throws(BenchFailure) {
      let path = "/proc/\(pid)/task/\(pid)/schedstat"
      let figures = (File.text(path) ?? "").split(separator: " ")
      guard figures.count > 1, let nanoseconds = Int(figures[1]) else {
        throw .unavailable("\(path) tells no wait for a processor")
      }
      return Double(nanoseconds) / 1e9
    }
  }

  /// The voluntary context switches of its threads, each followed by a wake-up.
  var sleeps: Int {
    get throws(BenchFailure) {
      try Int(
        sum { thread throws(BenchFailure) in
          try Self.field("voluntary_ctxt_switches", of: "\(thread)/status")
        })
    }
  }

  var residentBytes: Int { get throws(BenchFailure) { try kilobytes("VmRSS") } }
  var anonymousBytes: Int { get throws(BenchFailure) { try kilobytes("RssAnon") } }
  var memfdBytes: Int { Int(bench_memfd_bytes(pid)) }

  /// Its pages, each divided by how many processes have it.
  var proportionalBytes: Int {
    get throws(BenchFailure) { try Self.field("Pss", of: "/proc/\(pid)/smaps_rollup") * 1024 }
  }

  /// Pages that no other process shares.
  var privateBytes: Int {
    get throws(BenchFailure) {
      let path = "/proc/\(pid)/smaps_rollup"
      let kilobytes = try ["Private_Clean", "Private_Dirty"].map { name throws(BenchFailure) in
        try Self.field(name, of: path)
      }
      return kilobytes.reduce(0, +) * 1024
    }
  }

  private func sum(
    _ figure: (_ thread: String) throws(BenchFailure) -> Int
  ) throws(BenchFailure) -> Double {
    var sum = 0
    for thread in File.names(in: "/proc/\(pid)/task") {
      sum += try figure("/proc/\(pid)/task/\(thread)")
    }
    return Double(sum)
  }

  private func kilobytes(_ name: String) throws(BenchFailure) -> Int {
    try Self.field(name, of: "/proc/\(pid)/status") * 1024
  }

  private static func field(_ name: String, of path: String) throws(BenchFailure) -> Int {
    let lines = (File.text(path) ?? "").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix(name + ":") }),
      let number = Int(line.filter { $0.isNumber })
    else { throw .unavailable("\(path) has no \(name)") }
    return number
  }
}
