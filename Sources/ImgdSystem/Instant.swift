internal import CLinux

/// A moment on the monotonic clock.
package struct Instant: Comparable, Hashable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The clock as it stands now; inside a loop read `EventLoop.now`, which is read once a tick.
  package static var current: Instant { Instant(nanoseconds: linux_monotonic_ns()) }

  package static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  package static func + (left: Instant, right: Duration) -> Instant {
    Instant(nanoseconds: left.nanoseconds.addingSaturated(right.nanoseconds))
  }

  package static func - (left: Instant, right: Instant) -> Duration {
    .nanoseconds(left.nanoseconds(since: right))
  }

  /// How far this moment is from `start`, held at the ends of the range.
  func nanoseconds(since start: Instant) -> Int64 {
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(start.nanoseconds)
    guard overflow else { return difference }
    return start.nanoseconds < 0 ? .max : .min
  }
}

/// The wall clock, for what people and HTTP read.
package enum WallClock {
  /// Nanoseconds since 1970.
  package static var nanoseconds: Int64 { linux_realtime_ns() }

  /// Whole seconds since 1970.
  package static var seconds: Int64 { nanoseconds / 1_000_000_000 }
}

extension Duration {
  /// The duration in nanoseconds, held at the ends of the range.
  package var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    return whole.addingSaturated(attoseconds / 1_000_000_000)
  }

  /// The duration in milliseconds, cut to a whole number.
  package var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

extension Int64 {
  fileprivate func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other < 0 ? .min : .max
  }
}
