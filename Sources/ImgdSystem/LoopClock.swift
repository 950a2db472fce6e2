/// Where a loop reads the time: the system's clock, or one that a test sets.
package final class LoopClock {
  /// The system's monotonic clock.
  package static var monotonic: LoopClock { LoopClock() }

  private var manual: Instant?

  private init(manual: Instant? = nil) {
    self.manual = manual
  }

  /// A clock that stands still until it is advanced.
  package static func manual(at start: Instant = Instant(nanoseconds: 0)) -> LoopClock {
    LoopClock(manual: start)
  }

  package var now: Instant { manual ?? .current }

  /// Moves a manual clock; the system's clock is not moved.
  package func advance(by step: Duration) {
    manual = manual.map { $0 + step }
  }
}
