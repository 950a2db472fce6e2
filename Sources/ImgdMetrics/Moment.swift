/// A time on the wire, such as `2026-11-23T00:16:19Z`.
struct Moment {
  let secondsSince1970: Int64

  /// Reads a time as the daemon writes it; nil if the text is none.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 20, bytes[19] == UInt8(ascii: "Z") else { return nil }
    let fields = [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19]
    let numbers = fields.compactMap { Int64(String(decoding: bytes[$0], as: UTF8.self)) }
    guard numbers.count == 6, numbers.allSatisfy({ $0 >= 0 }), (1...12).contains(numbers[1]) else {
      return nil
    }
    let days = Self.days(until: numbers[0], numbers[1], numbers[2])
    secondsSince1970 = days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
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
}
