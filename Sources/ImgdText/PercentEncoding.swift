/// The percent-encoding of URLs (RFC 3986, section 2), where each text has one spelling.
package enum PercentEncoding {
  /// The text in the spelling in which only letters, digits and `-._~` stand for themselves, and slashes if they are
  /// `kept`. What is encoded already is not encoded twice; a percent sign without two digits stands for itself.
  package static func oneSpelling(of text: some StringProtocol, keepingSlashes kept: Bool = false) -> String {
    var spelling: [UInt8] = []
    var rest = Substring(text).utf8
    spelling.reserveCapacity(rest.count)
    while let byte = popByte(&rest) {
      if isUnreserved(byte) || kept && byte == UInt8(ascii: "/") {
        spelling.append(byte)
      } else {
        append(byte, to: &spelling)
      }
    }
    return String(decoding: spelling, as: UTF8.self)
  }

  /// The bytes that a text stands for: `%41` is `A`. What only looks like an escape stays as it is.
  package static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    var rest = text
    while let byte = popByte(&rest) { decoded.append(byte) }
    return decoded
  }

  /// Appends the escape of a byte.
  package static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
  }

  /// Whether a text begins with an escape.
  package static func beginsWithEscape(_ text: some Collection<UInt8>) -> Bool { escaped(text) != nil }

  /// The offset of the first percent sign that begins no escape; nil where there is none.
  package static func firstBareSign(in text: some StringProtocol) -> Int? {
    var rest = Substring(text).utf8
    var offset = 0
    while let byte = rest.first {
      let isEscape = beginsWithEscape(rest)
      if byte == UInt8(ascii: "%"), !isEscape { return offset }
      rest = rest.dropFirst(isEscape ? 3 : 1)
      offset += isEscape ? 3 : 1
    }
    return nil
  }

  private static func popByte<Bytes: Collection<UInt8>>(_ rest: inout Bytes) -> UInt8?
  where Bytes.SubSequence == Bytes {
    guard let byte = rest.first else { return nil }
    let escaped = escaped(rest)
    rest = rest.dropFirst(escaped == nil ? 1 : 3)
    return escaped ?? byte
  }

  /// The byte that an escape at the beginning stands for.
  private static func escaped(_ text: some Collection<UInt8>) -> UInt8? {
    guard text.first == UInt8(ascii: "%") else { return nil }
    let digits = text.dropFirst().prefix(2).compactMap(value)
    return digits.count == 2 ? digits[0] << 4 | digits[1] : nil
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    if let value = decimalValue(digit) { return UInt8(value) }
    let letter = digit | 0x20
    return letter &- UInt8(ascii: "a") < 6 ? letter - UInt8(ascii: "a") + 10 : nil
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- UInt8(ascii: "a") < 26 || decimalValue(byte) != nil || "-._~".utf8.contains(byte)
  }
}
