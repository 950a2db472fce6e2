import Glibc

extension HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The form that nearly all origins send, `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func text(_ seconds: Int64) -> String {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    // Fills the parts from a number, without a time zone.
    _ = unsafe gmtime_r(&moment, &parts)
    let (weekday, day, month, year) = unsafe (
      days[Int(parts.tm_wday)], parts.tm_mday, monthNames[Int(parts.tm_mon)], 1900 + parts.tm_year
    )
    let time = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits)
    return "\(weekday), \(twoDigits(day)) \(month) \(year) \(time.joined(separator: ":")) GMT"
  }

  /// The seconds since 1970 of a date that `text` would write just so; nil for anything else.
  static func secondsOfUsualForm(_ text: String) -> Int64? {
    guard text.utf8.count == 29, let seconds = parse(text, now: 0), seconds >= 0,
      sameBytes(Self.text(seconds), text)
    else { return nil }
    return seconds
  }

  private static func twoDigits(_ number: Int32) -> String {
    (number < 10 ? "0" : "") + "\(number)"
  }
}
