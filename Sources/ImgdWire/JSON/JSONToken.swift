/// A scalar that the scanner has accepted, as a range of the text.
///
/// A string's range lies between its quotes.
struct JSONToken {
  enum Kind: UInt8 { case string, integer, number, `true`, `false`, null, object, array }

  let kind: Kind
  /// The string holds escapes, so its bytes in the text are not its value.
  let isEscaped: Bool
  let start: UInt32
  var end: UInt32

  /// The offsets fit, because the scanner refuses longer texts.
  @inline(__always) init(_ kind: Kind, _ start: Int, _ end: Int, isEscaped: Bool = false) {
    self.kind = kind
    self.isEscaped = isEscaped
    self.start = UInt32(truncatingIfNeeded: start)
    self.end = UInt32(truncatingIfNeeded: end)
  }

  @inline(__always) var range: Range<Int> { Int(start)..<Int(max(start, end)) }

  /// The range with the quotes of a string.
  var sourceRange: Range<Int> { kind == .string ? Int(start) - 1..<Int(end) + 1 : range }

  /// The string's value.
  @inline(__always) func string(in text: Span<UInt8>) -> String {
    if isEscaped { return String(decoding: unescaped(in: text), as: UTF8.self) }
    // The scanner has validated the range.
    let valid = unsafe UTF8Span(unchecked: text.extracting(range), isKnownASCII: false)
    return String(copying: valid)
  }

  /// The bytes of the string's value.
  func unescaped(in text: Span<UInt8>) -> [UInt8] { JSONEscapes.decode(text.extracting(range)) }

  /// The whole number's value; nil when it needs more than 64 bits.
  @inline(__always) func integer(in text: Span<UInt8>) -> Int64? {
    var index = Int(start)
    let isNegative = text[index] == UInt8(ascii: "-")
    if isNegative { index += 1 }
    var value: Int64 = 0
    while index < Int(end) {
      let digit = Int64(text[index] &- UInt8(ascii: "0"))
      let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, tooFar) = product.subtractingReportingOverflow(digit)
      if tooLarge || tooFar { return nil }
      value = sum
      index += 1
    }
    // The sum is negative, because only there the smallest number fits.
    if isNegative { return value }
    let (positive, overflow) = Int64(0).subtractingReportingOverflow(value)
    return overflow ? nil : positive
  }

  /// The number's value as a double; infinite where it is out of range.
  func double(in text: Span<UInt8>) -> Double {
    let valid = unsafe UTF8Span(unchecked: text.extracting(range), isKnownASCII: true)
    return Double(String(copying: valid)) ?? .infinity
  }
}
