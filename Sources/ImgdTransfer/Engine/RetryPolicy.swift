internal import CCurl
internal import ImgdSystem

/// Decides whether and when a failed attempt is followed by another one.
struct RetryPolicy {
  /// How many attempts there may be after the first.
  let most: Int
  private(set) var made = 0
  private var hasRefetched = false
  private var paused = Duration.zero

  private static let firstPause = Duration.milliseconds(100)
  /// The limit for all pauses together, and the longest `Retry-After` that is waited for here: while
  /// it pauses, a transfer holds a place that another could use.
  private static let longestPauses = Duration.seconds(5)
  private static let longestRetryAfter = Duration.seconds(1)

  init(most: Int) { self.most = most }

  /// The pause before the next attempt, or nil when the failure is final. A long `Retry-After` makes it final: the
  /// caller knows better what to do meanwhile. A body that breaks off is fetched again from its start only once: the
  /// second time it is no accident. An attempt that `gained` bytes for the next one is always worth another.
  mutating func pause(
    after failure: TransferFailure, rest: Duration, gained: Bool = false, jitter: Double = .random(in: 0.5...1.5)
  ) -> Duration? {
    guard failure.isTransient || gained, made < most else { return nil }
    guard failure.kind != .truncated || gained || !hasRefetched else { return nil }
    // Doubles with each attempt, to spare the origin; six exceed the limit for all pauses, more could overflow.
    let backoff = Self.firstPause * (1 << min(made, 6))
    let pause = failure.retryAfter ?? backoff * jitter
    guard failure.retryAfter ?? .zero <= Self.longestRetryAfter, paused + pause <= Self.longestPauses, pause < rest
    else { return nil }
    made += 1
    paused += pause
    hasRefetched = hasRefetched || failure.kind == .truncated && !gained
    return pause
  }
}

/// The header that says when the origin accepts the next request.
enum RetryAfter {
  /// Longer delays are cut to a year, so that sums with them fit.
  private static let longest: Int64 = 366 * 86_400

  /// Reads seconds, or a date, which counts from `now` (seconds since 1970).
  static func delay(_ value: String?, now: Int64 = WallClock.seconds) -> Duration? {
    guard let value, !value.isEmpty else { return nil }
    if value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return .seconds(min(Int64(value) ?? longest, longest)) }
    let date = unsafe curl_getdate(value, nil)
    guard date >= 0 else { return nil }
    return .seconds(min(max(Int64(date) - now, 0), longest))
  }
}
