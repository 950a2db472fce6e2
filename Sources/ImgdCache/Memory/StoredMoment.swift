package import ImgdSystem

/// The moment at which something was stored, on this process's own clock, even if an earlier process stored it.
///
/// Only the wall clock survives a restart, and people set it. If it ran on, something may have been
/// stored before this process's clock began. If it was set back, a time of storing lies in the
/// future, and it is unknown how long ago that was: it counts as now, so that no age is negative,
/// and as doubtful, so that nothing is shown as fresh because of it.
package struct StoredMoment: Sendable, Equatable {
  /// How many seconds wall clocks may differ without anybody having set one.
  static let tolerance: Int64 = 5
  /// The longest span of time that is told apart from longer ones, some seventy years: longer than anything
  /// is fresh or may be shown stale, and short enough to calculate with.
  static let longest: Int64 = 1 << 61
  static let earliest = Instant(nanoseconds: -longest)

  package let instant: Instant
  /// Wall time in seconds since 1970, to be shown.
  package let wall: Int64
  package let isDoubtful: Bool

  /// A moment of this process's life.
  package init(_ instant: Instant, wall: Int64) { self.init(instant, wall: wall, isDoubtful: false) }

  init(_ instant: Instant, wall: Int64, isDoubtful: Bool) {
    self.instant = instant
    self.wall = wall
    self.isDoubtful = isDoubtful
  }

  /// The moment `age` ago, for something of which only the age is known.
  package init(age: Duration, now: Instant, nowWall: Int64) {
    let age = min(max(age, .zero), .nanoseconds(Self.longest))
    self.init(now + (.zero - age), wall: nowWall - age.components.seconds)
  }

  /// Takes wall times in seconds since 1970, however absurd they are.
  package init(storedWall: Int64, nowWall: Int64, now: Instant) {
    let (elapsed, overflow) = nowWall.subtractingReportingOverflow(storedWall)
    wall = storedWall
    isDoubtful = overflow ? storedWall > nowWall : elapsed < -Self.tolerance
    let seconds: Int64 = overflow ? .max : max(elapsed, 0)
    instant = isDoubtful ? now : max(now + .seconds(-seconds), Self.earliest)
  }
}
