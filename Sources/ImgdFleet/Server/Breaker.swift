internal import ImgdSystem

/// Decides when the server is left alone, and for how long.
///
/// After three failures in a row it is taken for dead. It is tried again after half a second, and then less
/// and less often until a connection lasts.
struct Breaker {
  private static let mostFailures = 3
  private static let firstPause: Duration = .milliseconds(500)
  private static let longestPause: Duration = .seconds(30)
  /// A connection that has lasted this long counts as healthy.
  private static let trial: Duration = .seconds(10)

  private var failures = 0
  private var pause = Self.firstPause
  private var closedAt: Instant?

  /// Takes note of a failure; returns whether it is one too many.
  mutating func failed() -> Bool {
    failures += 1
    return failures >= Self.mostFailures
  }

  /// Takes note of an answer that came in time.
  mutating func answered() { failures = 0 }

  /// Takes note that the server can be used.
  mutating func close(at now: Instant) {
    failures = 0
    closedAt = now
  }

  /// Takes note that the server cannot be used; returns how long to leave it alone. The jitter keeps hosts from
  /// all coming back at once.
  mutating func open(at now: Instant, jitter: Double = .random(in: 0.75...1.25)) -> Duration {
    failures = 0
    if let closedAt, now - closedAt >= Self.trial { pause = Self.firstPause }
    closedAt = nil
    defer { pause = min(pause * 2, Self.longestPause) }
    return pause * jitter
  }
}
