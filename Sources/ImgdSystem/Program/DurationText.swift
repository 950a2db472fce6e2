/// Durations as systemd.time(7) writes them: `7d 30s`, `1h30min`, `500ms`, a bare number of seconds.
package enum DurationText {
  private static let microsecondsPerUnit: [(names: [String], microseconds: Int)] = [
    (["w", "week", "weeks"], 604_800_000_000),
    (["d", "day", "days"], 86_400_000_000),
    (["h", "hr", "hour", "hours"], 3_600_000_000),
    (["min", "m", "minute", "minutes"], 60_000_000),
    (["s", "sec", "second", "seconds", ""], 1_000_000),
    (["ms", "msec"], 1000),
    (["us", "usec"], 1),
  ]

  /// The duration; nil when the text is none, or longer than 292,000 years.
  package static func duration(_ text: String) -> Duration? {
    var rest = text.utf8[...]
    var total = 0
    repeat {
      guard let part = nextPart(of: &rest) else { return nil }
      let (sum, overflow) = total.addingReportingOverflow(part)
      if overflow { return nil }
      total = sum
    } while !rest.isEmpty
    return .microseconds(total)
  }

  /// The text of a duration, exact to the microsecond: `1h 30min`.
  package static func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    var left = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
    var parts: [String] = []
    for unit in microsecondsPerUnit.dropFirst() where left >= unit.microseconds {
      parts.append(String(left / unit.microseconds) + unit.names[0])
      left %= unit.microseconds
    }
    return parts.isEmpty ? "0s" : parts.joined(separator: " ")
  }

  /// Removes one `number unit` and the blanks around it, and returns its microseconds.
  private static func nextPart(of rest: inout Substring.UTF8View) -> Int? {
    skipBlanks(&rest)
    let digits = takePart(from: &rest) { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    skipBlanks(&rest)
    let letters = takePart(from: &rest) { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") }
    skipBlanks(&rest)
    guard let number = decimalNumber(digits),
      let unit = microsecondsPerUnit.first(where: { $0.names.contains(String(Substring(letters))) })
    else { return nil }
    let (microseconds, overflow) = number.multipliedReportingOverflow(by: unit.microseconds)
    return overflow ? nil : microseconds
  }

  private static func takePart(from rest: inout Substring.UTF8View, while belongs: (UInt8) -> Bool)
    -> Substring.UTF8View
  {
    let taken = rest.prefix(while: belongs)
    rest = rest[taken.endIndex...]
    return taken
  }

  private static func skipBlanks(_ rest: inout Substring.UTF8View) {
    rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
  }
}
