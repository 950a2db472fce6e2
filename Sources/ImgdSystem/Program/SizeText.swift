/// Sizes in configuration files: bytes, or a number with K, M, G or T, in capitals or not.
package enum SizeText {
  private static let units: [(letter: UInt8, shift: Int)] = [
    (UInt8(ascii: "T"), 40), (UInt8(ascii: "G"), 30), (UInt8(ascii: "M"), 20),
    (UInt8(ascii: "K"), 10),
  ]

  /// The number of bytes; nil when the text is no size or the number does not fit.
  ///
  /// `KiB` is `K`, and so on; `KB` is refused, since to some it means a thousand.
  package static func bytes(_ text: String) -> Int? {
    var digits = text.utf8[...]
    let isBinary = text.hasSuffix("iB")
    if isBinary { digits = digits.dropLast(2) }
    let unit = digits.last.flatMap { last in units.first { $0.letter == last & ~0x20 } }
    if isBinary, unit == nil { return nil }
    if unit != nil { digits = digits.dropLast() }
    guard let number = decimalNumber(digits) else { return nil }
    let (bytes, tooLarge) = number.multipliedReportingOverflow(by: 1 << (unit?.shift ?? 0))
    return tooLarge ? nil : bytes
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
    guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
    let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
    let (sum, carry) = tenfold.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
    if overflow || carry { return nil }
    number = sum
  }
  return number
}
