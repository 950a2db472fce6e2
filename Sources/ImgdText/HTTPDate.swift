import Glibc

/// Reads the dates of HTTP, all three forms (RFC 9110, 5.6.7), without a locale and without a time zone. Letters
/// count in either case (RFC 9111, 4.2). Everything else must follow the grammar: reading what is only nearly a date
/// would be a guess, and what should end on that date might be shown for too long.
package enum HTTPDate {
  private static let months = words("jan feb mar apr may jun jul aug sep oct nov dec")
  private static let shortDays = words("mon tue wed thu fri sat sun")
  private static let longDays = words("monday tuesday wednesday thursday friday saturday sunday")

  private static func words(_ text: String) -> [[UInt8]] {
    text.utf8.split(separator: UInt8(ascii: " ")).map { Array($0) }
  }

  /// Seconds since 1970, or nil for anything that is not a date. `now` settles the century of the form with two
  /// digits for the year: a date that seems to lie more than fifty years ahead lies in the past.
  package static func parse(_ text: String, now: Int64) -> Int64? {
    if let seconds = secondsOfUsualForm(text) { return seconds }
    var scanner = FieldScanner(text)
    guard let day = scanner.takeLetters() else { return nil }
    let seconds =
      if scanner.takeByte(UInt8(ascii: ",")) {
        longDays.contains(day) ? withDashes(&scanner, now: now) : usual(&scanner, after: day)
      } else { asctime(&scanner, after: day) }
    return scanner.isAtEnd ? seconds : nil
  }

  /// ` 06 Nov 1994 08:49:37 GMT`, after the comma.
  private static func usual(_ scanner: inout FieldScanner, after weekday: [UInt8]) -> Int64? {
    guard shortDays.contains(weekday), scanner.takeBlank(), let day = scanner.takeNumber(digits: 2...2),
      scanner.takeBlank(), let month = month(&scanner), scanner.takeBlank(), let year = year(&scanner),
      scanner.takeBlank(), let time = time(&scanner), takeZone(&scanner)
    else { return nil }
    return seconds(year: year, month: month, day: day, time: time)
  }

  /// ` 06-Nov-94 08:49:37 GMT`, after the comma.
  private static func withDashes(_ scanner: inout FieldScanner, now: Int64) -> Int64? {
    let dash = UInt8(ascii: "-")
    guard scanner.takeBlank(), let day = scanner.takeNumber(digits: 2...2), scanner.takeByte(dash),
      let month = month(&scanner), scanner.takeByte(dash), let year = scanner.takeNumber(digits: 2...2),
      scanner.takeBlank(), let time = time(&scanner), takeZone(&scanner)
    else { return nil }
    return seconds(year: 2000 + year, month: month, day: day, time: time).flatMap {
      $0 <= now + 50 * 31_556_952 ? $0 : nil
    } ?? seconds(year: 1900 + year, month: month, day: day, time: time)
  }

  /// ` Nov  6 08:49:37 1994`, after the name of the day.
  private static func asctime(_ scanner: inout FieldScanner, after weekday: [UInt8]) -> Int64? {
    guard shortDays.contains(weekday), scanner.takeBlank(), let month = month(&scanner), scanner.takeBlank() else {
      return nil
    }
    let digits = scanner.takeBlank() ? 1...1 : 2...2
    guard let day = scanner.takeNumber(digits: digits), scanner.takeBlank(), let time = time(&scanner),
      scanner.takeBlank(), let year = year(&scanner)
    else { return nil }
    return seconds(year: year, month: month, day: day, time: time)
  }

  private static func month(_ scanner: inout FieldScanner) -> Int? {
    guard let name = scanner.takeLetters(), let place = months.firstIndex(of: name) else { return nil }
    return place + 1
  }

  /// Four digits; a year that begins with a zero was meant to be another one.
  private static func year(_ scanner: inout FieldScanner) -> Int? {
    scanner.takeNumber(digits: 4...4).flatMap { $0 >= 1000 ? $0 : nil }
  }

  /// Takes `GMT`: no other abbreviation says which zone it means (RFC 9111, 4.2).
  private static func takeZone(_ scanner: inout FieldScanner) -> Bool {
    scanner.takeBlank() && scanner.takeLetters() == Array("gmt".utf8)
  }

  /// `08:49:37` as seconds of the day. A leap second counts as the second before it, since what ends at
  /// that time must not last longer (RFC 9111, 4.2).
  private static func time(_ scanner: inout FieldScanner) -> Int? {
    guard let hour = scanner.takeNumber(digits: 2...2), hour < 24, scanner.takeByte(UInt8(ascii: ":")),
      let minute = scanner.takeNumber(digits: 2...2), minute < 60, scanner.takeByte(UInt8(ascii: ":")),
      let second = scanner.takeNumber(digits: 2...2), second < 61
    else { return nil }
    return hour * 3600 + minute * 60 + min(second, 59)
  }

  static func seconds(year: Int, month: Int, day: Int, time: Int) -> Int64? {
    guard (1...daysIn(month, of: year)).contains(day) else { return nil }
    return Int64(dayNumber(year: year, month: month, day: day)) * 86_400 + Int64(time)
  }

  private static func daysIn(_ month: Int, of year: Int) -> Int {
    guard month == 2 else { return [4, 6, 9, 11].contains(month) ? 30 : 31 }
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
  }

  /// Days since 1970-01-01. Years begin in March here, so that the leap day comes last.
  private static func dayNumber(year: Int, month: Int, day: Int) -> Int {
    let year = month > 2 ? year : year - 1
    let daysBeforeMonth = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
    let leapDays = year / 4 - year / 100 + year / 400
    return year * 365 + leapDays + daysBeforeMonth + day - 1 - 719_468
  }

  // Nearly all origins send this form. Every picture comes with two or three such dates, which are read several times
  // and written whenever its fields are.

  private static let template = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)
  private static let days = Array("SunMonTueWedThuFriSat".utf8)
  private static let monthNames = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

  private enum Place { static let (weekday, day, month, year, hour, minute, second) = (0, 5, 8, 12, 17, 20, 23) }

  /// Writes a moment in this form.
  package static func text(_ seconds: Int64) -> String { String(decoding: bytes(seconds), as: UTF8.self) }

  /// The bytes of that text.
  package static func bytes(_ seconds: Int64) -> [UInt8] {
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
    return text
  }

  private static func put(_ number: Int32, _ text: inout [UInt8], at place: Int) {
    text[place] = UInt8(ascii: "0") + UInt8(number / 10 % 10)
    text[place + 1] = UInt8(ascii: "0") + UInt8(number % 10)
  }

  /// Writes one of `names`, which are three letters each, without gaps.
  private static func put(_ names: [UInt8], _ index: Int32, _ text: inout [UInt8], at place: Int) {
    for offset in 0..<3 { text[place + offset] = names[3 * Int(index) + offset] }
  }

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
