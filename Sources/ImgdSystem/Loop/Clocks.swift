internal import CLinux

/// A moment on the monotonic clock.
package struct Instant: Comparable, Hashable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The time now; inside a loop use `EventLoop.now`, which is read once a tick.
  package static var current: Instant { Instant(nanoseconds: linux_monotonic_ns()) }

  package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  package static func + (left: Instant, right: Duration) -> Instant {
    Instant(nanoseconds: left.nanoseconds.addingSaturated(right.nanoseconds))
  }

  package static func - (left: Instant, right: Instant) -> Duration { .nanoseconds(left.nanoseconds(since: right)) }

  /// Nanoseconds since `start`, clamped to the range.
  func nanoseconds(since start: Instant) -> Int64 {
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(start.nanoseconds)
    guard overflow else { return difference }
    return start.nanoseconds < 0 ? .max : .min
  }
}

/// The clock of a loop: the system's, or one that a test sets.
package final class LoopClock {
  /// The system's monotonic clock.
  package static var monotonic: LoopClock { LoopClock() }

  private var manual: Instant?
  /// How far a manual clock moves whenever it is read, so that all work takes time.
  package var stride = Duration.zero

  private init(manual: Instant? = nil) { self.manual = manual }

  /// A clock that stands still until it is advanced.
  package static func manual(at start: Instant = Instant(nanoseconds: 0)) -> LoopClock { LoopClock(manual: start) }

  package var now: Instant {
    guard let manual else { return .current }
    if stride > .zero { self.manual = manual + stride }
    return manual
  }

  /// Moves a manual clock; no effect on the system's clock.
  package func advance(by step: Duration) { manual = manual.map { $0 + step } }
}

/// The wall clock, for people and HTTP.
package enum WallClock {
  /// Nanoseconds since 1970.
  package static var nanoseconds: Int64 { linux_realtime_ns() }

  /// Whole seconds since 1970.
  package static var seconds: Int64 { nanoseconds / 1_000_000_000 }
}

extension Duration {
  /// The duration in nanoseconds, clamped to the range.
  package var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    return whole.addingSaturated(attoseconds / 1_000_000_000)
  }

  /// The duration in milliseconds, rounded towards zero.
  package var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

extension Int64 {
  fileprivate func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other < 0 ? .min : .max
  }
}
