/// Tells news from noise: a trigger with a window of two seconds fires thirty times a minute at
/// most, and some kernels have been seen to fire without end.
struct StormGuard {
  static let limit = 30
  static let period = Duration.seconds(60)

  private var moments = Fifo<Instant>()

  /// Counts one more; answers whether that is more than the limit within the period.
  mutating func isStorm(at now: Instant) -> Bool {
    moments.append(now)
    guard moments.count > Self.limit, let oldest = moments.popFirst() else { return false }
    return now - oldest < Self.period
  }
}
