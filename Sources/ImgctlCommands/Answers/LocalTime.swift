import Glibc
import ImgdSystem

/// A time of day in the time zone of the person who reads it.
struct LocalTime {
  /// The time alone, as in `09:05:00`.
  let text: String
  /// The date and the time, as in `2026-11-23 09:05:00`.
  let withDate: String

  /// The time now.
  static var now: LocalTime { LocalTime(secondsSince1970: WallClock.seconds) }

  init(secondsSince1970 seconds: Int64) {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    // Reads `moment` and fills `parts`, both on this stack; the name of the zone is not looked at.
    unsafe localtime_r(&moment, &parts)
    let numbers = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
    let date = unsafe [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
    text = numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    withDate = date.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: "-") + " " + text
  }
}
