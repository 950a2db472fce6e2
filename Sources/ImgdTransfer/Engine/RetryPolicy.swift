internal import ImgdSystem

/// Whether a failed attempt is followed by another one, and when.
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
  /// An origin that says when to come again is believed, as long as that is before the deadline.
  /// A body that breaks off is fetched anew once: the second time it is no accident. When the
  /// attempt `gained` bytes that the next one can build on, it is worth going on.
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

  /// Doubles with each attempt, so that an origin in trouble is left in peace.
  private var backoff: Duration {
    // From six doublings on the bound holds; a shift without end would overflow.
    min(Self.firstPause * (1 << min(made, 6)), Self.longestPause)
  }
}
