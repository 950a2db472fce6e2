/// What a process holds at a moment.
struct Holding {
  private(set) var anonymous: Int
  private(set) var descriptors: Int
  private(set) var threads: Int

  init(_ meter: ProcessMeter) throws(BenchFailure) {
    anonymous = try meter.anonymousBytes
    descriptors = meter.descriptors
    threads = meter.threads
  }

  /// The most of either.
  mutating func rise(to other: Holding) {
    anonymous = max(anonymous, other.anonymous)
    descriptors = max(descriptors, other.descriptors)
    threads = max(threads, other.threads)
  }

  /// Whether nothing more is held than before, but for a rest that the allocator and tables keep.
  func isBack(to before: Holding, rest: Int) -> Bool {
    anonymous <= before.anonymous + rest && descriptors <= before.descriptors
  }

  var text: String { "\(Figure(Double(anonymous), "B").text), \(descriptors) fds, \(threads) threads" }
}

extension ProcessMeter {
  var descriptors: Int { File.names(in: "/proc/\(pid)/fd").count }
  var threads: Int { File.names(in: "/proc/\(pid)/task").count }
}
