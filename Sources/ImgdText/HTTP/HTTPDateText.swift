import Glibc

/// The form that nearly all origins send, `Sun, 06 Nov 1994 08:49:37 GMT`: every picture comes with two or
/// three such dates, which are read several times and written whenever its fields are.
extension HTTPDate {
  private static let template = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)
  private static let days = Array("SunMonTueWedThuFriSat".utf8)
  private static let monthNames = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

  /// Where the parts of the form begin.
  private enum Place { static let (weekday, day, month, year, hour, minute, second) = (0, 5, 8, 12, 17, 20, 23) }

  // MARK: Writing

  /// Writes a moment in this form.
  package static func text(_ seconds: Int64) -> String {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    // Fills the parts from a number, without a time zone.
    _ = unsafe gmtime_r(&moment, &parts)
    var text = template
    unsafe put(days, parts.tm_wday, &text, at: Place.weekday)
    unsafe put(parts.tm_mday, &text, at: Place.day)
    unsafe put(monthNames, parts.tm_mon, &text, at: Place.month)
    let year = unsafe 1900 + parts.tm_year
    put(year / 100, &text, at: Place.year)
    put(year % 100, &text, at: Place.year + 2)
    unsafe put(parts.tm_hour, &text, at: Place.hour)
    unsafe put(parts.tm_min, &text, at: Place.minute)
    unsafe put(parts.tm_sec, &text, at: Place.second)
    return String(decoding: text, as: UTF8.self)
  }

  /// Writes two digits.
  private static func put(_ number: Int32, _ text: inout [UInt8], at place: Int) {
    text[place] = UInt8(ascii: "0") + UInt8(number / 10 % 10)
    text[place + 1] = UInt8(ascii: "0") + UInt8(number % 10)
  }

  /// Writes one of `names`, which are three letters each, without gaps.
  private static func put(_ names: [UInt8], _ index: Int32, _ text: inout [UInt8], at place: Int) {
    for offset in 0..<3 { text[place + offset] = names[3 * Int(index) + offset] }
  }

  // MARK: Reading

  /// The seconds since 1970 of a date that is exactly as `text` would write it; nil for anything else.
  package static func secondsOfUsualForm(_ text: String) -> Int64? {
    let bytes = text.utf8.span
    guard bytes.count == template.count, hasMarks(bytes), let month = index(in: monthNames, bytes, at: Place.month),
      let weekday = index(in: days, bytes, at: Place.weekday), let day = number(bytes, at: Place.day),
      let time = time(bytes), let century = number(bytes, at: Place.year), let year = number(bytes, at: Place.year + 2),
      let seconds = seconds(year: 100 * century + year, month: month + 1, day: day, time: time), seconds >= 0,
      (seconds / 86_400 + 4) % 7 == weekday
    else { return nil }
    return seconds
  }

  /// Whether all bytes between the parts are as they should be.
  private static func hasMarks(_ bytes: Span<UInt8>) -> Bool {
    for place in [3, 4, 7, 11, 16, 19, 22, 25, 26, 27, 28] where bytes[place] != template[place] { return false }
    return true
  }

  /// The seconds of the day; a leap second is not written.
  private static func time(_ bytes: Span<UInt8>) -> Int? {
    guard let hour = number(bytes, at: Place.hour), let minute = number(bytes, at: Place.minute),
      let second = number(bytes, at: Place.second), hour < 24, minute < 60, second < 60
    else { return nil }
    return (hour * 60 + minute) * 60 + second
  }

  private static func number(_ bytes: Span<UInt8>, at place: Int) -> Int? {
    guard let tens = decimalValue(bytes[place]), let ones = decimalValue(bytes[place + 1]) else { return nil }
    return 10 * tens + ones
  }

  private static func index(in names: [UInt8], _ bytes: Span<UInt8>, at place: Int) -> Int? {
    var start = 0
    while start < names.count {
      if names[start] == bytes[place], names[start + 1] == bytes[place + 1], names[start + 2] == bytes[place + 2] {
        return start / 3
      }
      start += 3
    }
    return nil
  }
}
