internal import CCurl
internal import ImgdSystem

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
