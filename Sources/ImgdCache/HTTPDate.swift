/// The three forms of a date in HTTP, read without the C library: that one asks for the locale.
package enum HTTPDate {
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// Seconds since 1970, or nil for what is no date.
  package static func seconds(_ text: String) -> Int64? {
    let words = text.lowercased().split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
    case 6: return seconds(year: words[3], month: words[2], day: words[1], time: words[4])
    // Sun Nov  6 08:49:37 1994
    case 5: return seconds(year: words[4], month: words[1], day: words[2], time: words[3])
    default: return nil
    }
  }

  private static func seconds(year: String, month: String, day: String, time: String) -> Int64? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0) }
    guard let month = months.firstIndex(of: month), let day = number(day), 1...31 ~= day,
      let year = fullYear(year), clock.count == 3, let hour = clock[0], hour < 24,
      let minute = clock[1], minute < 60, let second = clock[2], second <= 60
    else { return nil }
    return daysFrom1970(year, month + 1, day) * 86_400 + hour * 3_600 + minute * 60 + second
  }

  /// Two digits mean the century in which the year lies nearest to our own.
  private static func fullYear(_ text: String) -> Int64? {
    guard let year = number(text) else { return nil }
    guard text.utf8.count == 2 else { return 1600...9999 ~= year ? year : nil }
    return year < 70 ? year + 2000 : year + 1900
  }

  private static func number(_ text: some StringProtocol) -> Int64? {
    guard 1...4 ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return Int64(text)
  }

  private static func daysFrom1970(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let marchMonth = Int64((month + 9) % 12)
    let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
