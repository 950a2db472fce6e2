/// Reads the dates of HTTP, all three forms, without a locale and without a time zone.
package enum HTTPDate {
  private static let months: [[UInt8]] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ].map { Array($0.utf8) }

  /// Seconds since 1970, or nil for anything that is not a date.
  ///
  /// `now` settles the century of the form with two digits for the year: a date that seems to lie
  /// more than fifty years ahead lies in the past.
  package static func parse(_ text: String, now: Int64) -> Int64? {
    if let seconds = secondsOfUsualForm(text) { return seconds }
    var scanner = FieldScanner(text)
    guard scanner.takeLetters() != nil else { return nil }
    if scanner.take(UInt8(ascii: ",")) { return afterComma(&scanner, now: now) }
    return asctime(&scanner)
  }

  /// `06 Nov 1994 08:49:37 GMT` or `06-Nov-94 08:49:37 GMT`.
  private static func afterComma(_ scanner: inout FieldScanner, now: Int64) -> Int64? {
    scanner.skipBlanks()
    guard let day = scanner.takeNumber(digits: 1...2) else { return nil }
    let hasDashes = scanner.take(UInt8(ascii: "-"))
    guard hasDashes || scanner.takeBlank(), let month = month(&scanner),
      hasDashes ? scanner.take(UInt8(ascii: "-")) : scanner.takeBlank(),
      let year = scanner.takeNumber(digits: hasDashes ? 2...4 : 4...4),
      year < 100 || year >= 1000,
      scanner.takeBlank(), let time = time(&scanner), scanner.takeBlank(),
      let zone = scanner.takeLetters(), zone == Array("gmt".utf8) || zone == Array("utc".utf8),
      scanner.isAtEnd
    else { return nil }
    guard year < 100 else { return seconds(year: year, month: month, day: day, time: time) }
    return seconds(year: 2000 + year, month: month, day: day, time: time)
      .flatMap { $0 <= now + 50 * 31_556_952 ? $0 : nil }
      ?? seconds(year: 1900 + year, month: month, day: day, time: time)
  }

  /// `Nov  6 08:49:37 1994`, after the name of the day.
  private static func asctime(_ scanner: inout FieldScanner) -> Int64? {
    guard scanner.takeBlank(), let month = month(&scanner), scanner.takeBlank() else { return nil }
    scanner.skipBlanks()
    guard let day = scanner.takeNumber(digits: 1...2), scanner.takeBlank(),
      let time = time(&scanner), scanner.takeBlank(),
      let year = scanner.takeNumber(digits: 4...4), scanner.isAtEnd
    else { return nil }
    return seconds(year: year, month: month, day: day, time: time)
  }

  private static func month(_ scanner: inout FieldScanner) -> Int? {
    guard let name = scanner.takeLetters(), let place = months.firstIndex(of: name) else {
      return nil
    }
    return place + 1
  }

  /// `08:49:37` as seconds of the day; a leap second counts as the next minute's first.
  private static func time(_ scanner: inout FieldScanner) -> Int? {
    guard let hour = scanner.takeNumber(digits: 2...2), hour < 24,
      scanner.take(UInt8(ascii: ":")), let minute = scanner.takeNumber(digits: 2...2), minute < 60,
      scanner.take(UInt8(ascii: ":")), let second = scanner.takeNumber(digits: 2...2), second < 61
    else { return nil }
    return hour * 3600 + minute * 60 + second
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
}
