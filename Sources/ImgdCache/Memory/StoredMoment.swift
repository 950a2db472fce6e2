package import ImgdSystem

/// When something was stored that an earlier process has left, on this process's own clock.
///
/// Only the wall clock reaches over a restart, and people set it. Where it ran on, what is stored
/// may have been stored before this clock began. Where it went back, a time of storing lies in the
/// future, and it is unknown how long ago that was: it counts as now, so that no age is negative,
/// and as doubtful, so that nothing is shown as fresh for its sake.
package struct StoredMoment: Sendable, Equatable {
  /// How far wall clocks are out of step without anybody having set them.
  static let tolerance: Int64 = 5
  /// The longest time that is told apart from longer ones, some seventy years: more than anything
  /// is fresh or may be shown stale, and little enough to reckon with.
  static let longest: Int64 = 1 << 61
  static let earliest = Instant(nanoseconds: -longest)

  package let instant: Instant
  /// Wall time in seconds since 1970, to be shown.
  package let wall: Int64
  package let isDoubtful: Bool

  /// A moment of this process's life.
  package init(_ instant: Instant, wall: Int64) {
    self.init(instant, wall: wall, isDoubtful: false)
  }

  init(_ instant: Instant, wall: Int64, isDoubtful: Bool) {
    self.instant = instant
    self.wall = wall
    self.isDoubtful = isDoubtful
  }

  /// That long ago, for something that is known only by its age.
  package init(age: Duration, now: Instant, nowWall: Int64) {
    let age = min(max(age, .zero), .nanoseconds(Self.longest))
    self.init(now + (.zero - age), wall: nowWall - age.components.seconds)
  }

  /// Takes wall times in seconds since 1970, whatever numbers they are.
  package init(storedWall: Int64, nowWall: Int64, now: Instant) {
    let (elapsed, overflow) = nowWall.subtractingReportingOverflow(storedWall)
    wall = storedWall
    isDoubtful = overflow ? storedWall > nowWall : elapsed < -Self.tolerance
    let seconds: Int64 = overflow ? .max : max(elapsed, 0)
    instant = isDoubtful ? now : max(now + .seconds(-seconds), Self.earliest)
  }
}
