/// The bounds of the buckets in which latencies are counted: fixed, so that the counts of several hosts can be added.
/// Hits take microseconds, downloads and decoders up to seconds.
package enum LatencyBounds {
  private static let microseconds: [Int64] = [
    10, 25, 50, 100, 250, 1_000, 2_500, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    10_000_000,
  ]

  package static let nanoseconds = microseconds.map { $0 * 1_000 }
  package static let seconds = microseconds.map { Double($0) / 1e6 }

  /// The first bound that a time in nanoseconds does not exceed; nil where it exceeds all.
  package static func index(of time: Int64) -> Int? { nanoseconds.firstIndex { time <= $0 } }
}
