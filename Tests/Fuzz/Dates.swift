import Glibc

@testable import ImgdText
@testable import ImgdWire

extension FuzzTarget {
  /// Dates of HTTP, in all three forms, against a second reader that goes by fixed places and leaves the calendar to the
  /// C library; and the times of the protocol.
  static let dates = FuzzTarget("dates", of: ["ImgdText/HTTPDate.swift", "ImgdWire/Timestamp.swift"], longest: 48) {
    bytes in
    var choices = Choices(bytes)
    let now = Int64(choices.number(UInt32.self))
    let text = String(decoding: choices.rest, as: UTF8.self)
    let read = HTTPDate.parse(text, now: now)
    expect(read == SecondCalendar.seconds(Array(choices.rest), now: now), "two readers read the same date")
    if let usual = HTTPDate.secondsOfUsualForm(text) {
      expect(usual == read, "the quick reader reads the same date")
      expect(FuzzKit.same(HTTPDate.text(usual), text), "a date in its usual form is written as it was")
    }
    // Years of four digits.
    let seconds = now * 58
    expect(HTTPDate.parse(HTTPDate.text(seconds), now: 0) == seconds, "a moment survives being written and read")
    expect(HTTPDate.secondsOfUsualForm(HTTPDate.text(seconds)) == seconds, "also by the quick reader")
    expect(Timestamp.seconds(of: Timestamp.rfc3339(seconds)) == seconds, "and so it does in the protocol")
    if let moment = Timestamp.seconds(of: text) {
      expect(FuzzKit.same(Timestamp.rfc3339(moment), text), "a time of the protocol has one spelling")
    }
  }
}

/// RFC 9110, 5.6.7: each form is text with digits and names at fixed places.
private enum SecondCalendar {
  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
  private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
  private static let longDays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

  static func seconds(_ bytes: [UInt8], now: Int64) -> Int64? {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    var core = bytes.drop(while: isBlank)
    while let last = core.last, isBlank(last) { core.removeLast() }
    guard core.allSatisfy({ $0 < 0x80 }) else { return nil }
    let text = core.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
    return usual(text) ?? withDashes(text, now: now) ?? asctime(text)
  }

  /// `sun, 06 nov 1994 08:49:37 gmt`
  private static func usual(_ text: [UInt8]) -> Int64? {
    guard matches(text, "###, 00 ### 0000 00:00:00 gmt"), days.contains(word(text, 0, 3)) else { return nil }
    return moment(text, day: 5, month: 8, year: number(text, 12, 4), time: 17)
  }

  /// `sunday, 06-nov-94 08:49:37 gmt`
  private static func withDashes(_ text: [UInt8], now: Int64) -> Int64? {
    guard let comma = text.firstIndex(of: UInt8(ascii: ",")), longDays.contains(word(text, 0, comma)) else {
      return nil
    }
    let rest = Array(text[comma...])
    guard matches(rest, ", 00-###-00 00:00:00 gmt") else { return nil }
    let year = number(rest, 9, 2)
    let late = moment(rest, day: 2, month: 5, year: 2000 + year, time: 12)
    // Fifty years of 365.2425 days.
    if let late, late - now <= 1_577_847_600 { return late }
    return moment(rest, day: 2, month: 5, year: 1900 + year, time: 12)
  }

  /// `sun nov  6 08:49:37 1994`
  private static func asctime(_ text: [UInt8]) -> Int64? {
    var text = text
    guard text.count == 24 else { return nil }
    if text[8] == 0x20 { text[8] = UInt8(ascii: "0") }
    guard matches(text, "### ### 00 00:00:00 0000"), days.contains(word(text, 0, 3)) else { return nil }
    return moment(text, day: 8, month: 4, year: number(text, 20, 4), time: 11)
  }

  /// `0` stands for a digit, `#` for a letter.
  private static func matches(_ text: [UInt8], _ pattern: String) -> Bool {
    text.count == pattern.utf8.count
      && zip(text, pattern.utf8).allSatisfy { byte, place in
        switch place {
        case UInt8(ascii: "0"): 0x30...0x39 ~= byte
        case UInt8(ascii: "#"): 0x61...0x7A ~= byte
        default: byte == place
        }
      }
  }

  private static func word(_ text: [UInt8], _ start: Int, _ count: Int) -> String {
    String(decoding: text[start..<start + count], as: UTF8.self)
  }

  private static func number(_ text: [UInt8], _ start: Int, _ count: Int) -> Int {
    text[start..<start + count].reduce(0) { 10 * $0 + Int($1 - 0x30) }
  }

  private static func moment(_ text: [UInt8], day: Int, month: Int, year: Int, time: Int) -> Int64? {
    guard let place = months.firstIndex(of: word(text, month, 3)), year >= 1000 else { return nil }
    var parts = tm()
    parts.tm_year = Int32(year - 1900)
    parts.tm_mon = Int32(place)
    parts.tm_mday = Int32(number(text, day, 2))
    (parts.tm_hour, parts.tm_min) = (Int32(number(text, time, 2)), Int32(number(text, time + 3, 2)))
    let second = number(text, time + 6, 2)
    // A leap second counts as the second before it.
    parts.tm_sec = Int32(min(second, 59))
    guard second <= 60, parts.tm_hour < 24, parts.tm_min < 60 else { return nil }
    let sent = (parts.tm_mday, parts.tm_mon)
    let seconds = timegm(&parts)
    return (parts.tm_mday, parts.tm_mon) == sent ? Int64(seconds) : nil
  }
}
