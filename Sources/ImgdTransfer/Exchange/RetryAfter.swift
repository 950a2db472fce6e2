internal import CCurl
import Glibc
internal import ImgdSystem

/// The header by which an origin says when it wants to be asked again.
enum RetryAfter {
  /// Beyond this nobody waits; sums with it still fit.
  private static let longest: Int64 = 366 * 86_400

  /// Reads seconds, or a date, which counts from `now` (seconds since 1970).
  static func delay(_ value: String?, now: Int64 = WallClock.seconds) -> Duration? {
    guard let value, !value.isEmpty else { return nil }
    if value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return .seconds(min(Int64(value) ?? longest, longest))
    }
    let date = unsafe curl_getdate(value, nil)
    guard date >= 0 else { return nil }
    return .seconds(min(max(Int64(date) - now, 0), longest))
  }
}
