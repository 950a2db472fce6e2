/// Times on the wire: RFC 3339 in UTC, whole seconds. Independent of the machine's locale and time zone.
package enum Timestamp {
  /// The last second whose year has four digits.
  private static let last: Int64 = 253_402_300_799
  /// The first second of the year 0.
  private static let first: Int64 = -62_167_219_200

  /// The text of a moment in seconds since 1970; beyond the years 0 to 9999 the nearest second.
  package static func rfc3339(_ epochSeconds: Int64) -> String {
    var bytes: [UInt8] = []
    append(epochSeconds, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the text of a moment in seconds since 1970.
  package static func append(_ epochSeconds: Int64, to bytes: inout [UInt8]) {
    let moment = min(max(epochSeconds, first), last)
    let days = (moment - first) / 86_400
    let second = Int((moment - first) % 86_400)
    let (year, month, day) = date(daysSinceYearZero: Int(days))
    append(year, digits: 4, to: &bytes)
    append(month, digits: 2, after: "-", to: &bytes)
    append(day, digits: 2, after: "-", to: &bytes)
    append(second / 3600, digits: 2, after: "T", to: &bytes)
    append(second / 60 % 60, digits: 2, after: ":", to: &bytes)
    append(second % 60, digits: 2, after: ":", to: &bytes)
    bytes.append(UInt8(ascii: "Z"))
  }

  /// The seconds since 1970 of a moment as `rfc3339` writes it; nil for any other text.
  package static func seconds(of text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 20, bytes[19] == UInt8(ascii: "Z") else { return nil }
    let fields = [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19]
    let numbers = fields.compactMap { Int64(String(decoding: bytes[$0], as: UTF8.self)) }
    guard numbers.count == 6 else { return nil }
    let days = days(until: numbers[0], numbers[1], numbers[2])
    let seconds = days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
    return rfc3339(seconds).utf8.elementsEqual(bytes) ? seconds : nil
  }

  /// The days from the beginning of 1970 to a date.
  private static func days(until year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    // Years begin in March here, so that a leap day is the last of its year.
    let year = month > 2 ? year : year - 1
    let month = (month + 9) % 12
    let leapDays = year / 4 - year / 100 + year / 400
    // From March on, five months have 153 days.
    return year * 365 + leapDays + (month * 153 + 2) / 5 + day - 719_469
  }

  private static func append(_ number: Int, digits: Int, after mark: Unicode.Scalar? = nil, to bytes: inout [UInt8]) {
    if let mark { bytes.append(UInt8(ascii: mark)) }
    var place = digits == 4 ? 1000 : 10
    while place > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number / place % 10))
      place /= 10
    }
  }

  /// Years are counted from March, so that the leap day is the last of a year and the lengths of
  /// months follow one straight line: 153 days in five months.
  private static func date(daysSinceYearZero days: Int) -> (year: Int, month: Int, day: Int) {
    // The year 0 is a leap year: 60 days before its March.
    let sinceMarch = days - 60 + 146_097
    let era = sinceMarch / 146_097
    let dayOfEra = sinceMarch % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = (era - 1) * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    return (year, month, day)
  }
}
