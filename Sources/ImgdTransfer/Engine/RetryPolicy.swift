internal import ImgdSystem

/// Decides whether and when a failed attempt is followed by another one.
struct RetryPolicy {
  /// How many attempts there may be after the first.
  let most: Int
  private(set) var made = 0
  private var hasRefetched = false

  private static let firstPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(5)

  init(most: Int) {
    self.most = most
  }

  /// The pause before the next attempt, or nil when the failure is final.
  ///
  /// `Retry-After` of the origin is followed if it ends before the deadline. A body that breaks off is
  /// fetched again from its start once: the second time it is no accident. An attempt that `gained`
  /// bytes which the next one can continue is always worth another.
  mutating func pause(
    after failure: TransferFailure, rest: Duration, gained: Bool = false,
    jitter: Double = .random(in: 0.5...1.5)
  ) -> Duration? {
    guard failure.isTransient || gained, made < most else { return nil }
    guard failure.kind != .truncated || gained || !hasRefetched else { return nil }
    let pause = failure.retryAfter ?? backoff * jitter
    guard pause < rest else { return nil }
    made += 1
    hasRefetched = hasRefetched || failure.kind == .truncated && !gained
    return pause
  }

  /// Doubles with each attempt, to spare an overloaded origin.
  private var backoff: Duration {
    // The bound is reached at six doublings; more could overflow.
    min(Self.firstPause * (1 << min(made, 6)), Self.longestPause)
  }
}
