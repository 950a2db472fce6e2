internal import ImgdText

/// Sizes in configuration files: bytes, or a number with K, M, G or T.
package enum SizeText {
  private static let units: [(letter: UInt8, shift: Int)] = [
    (UInt8(ascii: "T"), 40), (UInt8(ascii: "G"), 30), (UInt8(ascii: "M"), 20), (UInt8(ascii: "K"), 10),
  ]

  /// The number of bytes; nil when the text is no size or the number does not fit. `K`, `KB` and `KiB` are all 1024,
  /// in capitals or not, with blanks before them or not: other programs write each of these forms.
  package static func bytes(_ text: String) -> Int? {
    let end = text.utf8.firstIndex { decimalValue($0) == nil } ?? text.utf8.endIndex
    let unit = text.utf8[end...].drop { isBlank($0) }
    if unit.isEmpty, end != text.utf8.endIndex { return nil }
    guard let number = decimalNumber(text.utf8[..<end]), let shift = shift(of: unit) else { return nil }
    let (bytes, tooLarge) = number.multipliedReportingOverflow(by: 1 << shift)
    return tooLarge ? nil : bytes
  }

  /// The power of two that a unit stands for; no unit and `B` mean bytes.
  private static func shift(of text: Substring.UTF8View) -> Int? {
    var rest = text
    let unit = rest.first.flatMap { first in units.first { $0.letter == first & ~0x20 } }
    if unit != nil { rest = rest.dropFirst() }
    if unit != nil, rest.first.map({ $0 & ~0x20 }) == UInt8(ascii: "I") {
      rest = rest.dropFirst()
      if rest.isEmpty { return nil }
    }
    if rest.first.map({ $0 & ~0x20 }) == UInt8(ascii: "B") { rest = rest.dropFirst() }
    return rest.isEmpty ? unit?.shift ?? 0 : nil
  }

  /// The shortest text for exactly this number of bytes.
  package static func text(_ bytes: Int) -> String {
    let unit = units.first { bytes != 0 && bytes % (1 << $0.shift) == 0 }
    guard let unit else { return String(bytes) }
    return String(bytes >> unit.shift) + String(UnicodeScalar(unit.letter))
  }
}

/// A number of decimal digits alone; nil when there is anything else or it does not fit.
package func decimalNumber(_ digits: some Collection<UInt8>) -> Int? {
  guard !digits.isEmpty else { return nil }
  var number = 0
  for digit in digits {
    guard let value = decimalValue(digit) else { return nil }
    let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
    let (sum, carry) = tenfold.addingReportingOverflow(value)
    if overflow || carry { return nil }
    number = sum
  }
  return number
}

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
    let digits = takePart(from: &rest) { decimalValue($0) != nil }
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

  private static func skipBlanks(_ rest: inout Substring.UTF8View) { rest = rest.drop(while: isBlank) }
}

private func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
