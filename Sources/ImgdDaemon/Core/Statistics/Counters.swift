import ImgdWire

/// Counters since the start, for `stats`; the tiers have their own.
enum Statistics {
  struct Downloads {
    var started = 0
    var completed = 0
    var failed = 0
    /// Transfers that broke off since the network had gone, and were to be made again.
    var interrupted = 0
    var cancelled = 0
    var coalesced = 0
    var retries = 0
    var revalidated = 0
    /// Transfers that ended with a redirect to another URL.
    var redirected = 0
    /// Bodies that were put together from what had come before and the rest.
    var resumed = 0
    var bytesReceived = 0
  }

  struct Clients {
    var accepted = 0
    var rejected = 0
    var slowClosed = 0
  }

  struct Pressure {
    var events = 0
    var removedBytes = 0
    var last: Int64?
  }
}

final class CommandCounter {
  private(set) var count = 0
  /// Called for each command.
  private let onCommand: () -> Void

  init(onCommand: @escaping () -> Void) { self.onCommand = onCommand }

  func countCommand() {
    count += 1
    onCommand()
  }
}

/// How long things took: counts in buckets that are at most a sixteenth wide, or as wide as its owner wants them; and
/// in those of the protocol, which are the same on all hosts and can be added.
struct LatencyHistogram {
  private let finestBits: Int
  private var finest: Int { 1 << finestBits }
  /// What takes longer counts as this.
  private let most: Int64

  private var buckets: [UInt64]
  /// By the bounds of `LatencyBounds`, each count without those before it; what takes longer than the last is in none.
  private var shared = [UInt64](repeating: 0, count: LatencyBounds.nanoseconds.count)
  private(set) var longest: Int64 = 0
  private var settledSum: Int64 = 0
  /// How many are in the buckets.
  private var settled: UInt64 = 0
  /// What came last, how often in a row, and its bucket: hits between two looks at the clock all take equally long.
  private var last: (value: Int64, times: UInt64, bucket: Int) = (-1, 0, 0)

  init(finestBits: Int = 4, most: Int64 = .max) {
    self.finestBits = finestBits
    self.most = most
    buckets = []
    buckets = [UInt64](repeating: 0, count: bucket(of: most) + 1)
  }

  var count: UInt64 { settled + last.times }

  /// The time that all things took together, in nanoseconds.
  var sum: Int64 { settledSum &+ lastSum }

  private var lastSum: Int64 { last.times == 0 ? 0 : min(max(last.value, 0), most) &* Int64(last.times) }

  /// How many things took at most as long as each bound of the protocol.
  var withinBounds: [UInt64] {
    var (counts, sum) = (shared, UInt64(0))
    if last.times > 0, let bound = LatencyBounds.index(of: last.value) { counts[bound] += last.times }
    for index in counts.indices {
      sum += counts[index]
      counts[index] = sum
    }
    return counts
  }

  mutating func record(_ nanoseconds: Int64) {
    if nanoseconds != last.value { settle(before: nanoseconds) }
    last.times &+= 1
  }

  private mutating func settle(before next: Int64) {
    buckets[last.bucket] += last.times
    if last.times > 0, let bound = LatencyBounds.index(of: last.value) { shared[bound] += last.times }
    settledSum &+= lastSum
    settled += last.times
    let value = min(max(next, 0), most)
    last = (next, 0, bucket(of: value))
    longest = max(longest, value)
  }

  /// The time that `share` of all things took at most, in nanoseconds.
  func percentile(_ share: Double) -> Int64 {
    guard count > 0 else { return 0 }
    let wanted = max(UInt64((Double(count) * share).rounded(.up)), 1)
    var seen: UInt64 = 0
    for (index, number) in buckets.enumerated() {
      seen += index == last.bucket ? number + last.times : number
      if seen >= wanted { return min(upperEnd(of: index), longest) }
    }
    return longest
  }

  private func bucket(of value: Int64) -> Int {
    guard value >= finest else { return Int(value) }
    let exponent = 63 - value.leadingZeroBitCount
    let fraction = Int(value >> (exponent - finestBits)) & (finest - 1)
    return (exponent - finestBits + 1) * finest + fraction
  }

  private func upperEnd(of bucket: Int) -> Int64 {
    guard bucket >= finest else { return Int64(bucket) }
    let shift = bucket / finest - 1
    return (Int64(finest + bucket % finest) << shift) + (1 << shift) - 1
  }
}

/// The kernel's figures of this process.
struct ProcessFacts {
  /// Resident memory in bytes.
  let residentBytes: Int
  /// The part of it that is shared with no file and no other process.
  let privateBytes: Int
  let openDescriptors: Int
}
