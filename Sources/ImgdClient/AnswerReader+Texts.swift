extension AnswerReader {
  /// A text in quotes, with its escapes undone.
  mutating func text() throws(Malformed) -> String {
    guard take("\"") else { throw malformed }
    var content: [UInt8] = []
    while position < bytes.count, next >= 0x20 {
      let byte = next
      position += 1
      if byte == UInt8(ascii: "\"") {
        // Bytes that are no UTF-8 become replacement characters: this is only shown.
        return String(decoding: content, as: UTF8.self)
      }
      if byte == UInt8(ascii: "\\") { try readEscape(into: &content) } else { content.append(byte) }
    }
    throw malformed
  }

  private mutating func readEscape(into content: inout [UInt8]) throws(Malformed) {
    let letter = next
    position += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(letter)
    case UInt8(ascii: "b"): content.append(8)
    case UInt8(ascii: "f"): content.append(12)
    case UInt8(ascii: "n"): content.append(10)
    case UInt8(ascii: "r"): content.append(13)
    case UInt8(ascii: "t"): content.append(9)
    case UInt8(ascii: "u"): content += UTF8.encode(try scalar()).map(Array.init) ?? []
    default:
      position -= 1
      throw malformed
    }
  }

  /// What four digits stand for, or twice four where they are a surrogate pair.
  private mutating func scalar() throws(Malformed) -> Unicode.Scalar {
    let unit = try codeUnit()
    guard UTF16.isLeadSurrogate(unit), bytes[position...].starts(with: Array("\\u".utf8)) else {
      return Unicode.Scalar(unit) ?? "\u{FFFD}"
    }
    let before = position
    position += 2
    let trail = try codeUnit()
    if UTF16.isTrailSurrogate(trail) {
      return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
    }
    position = before
    return "\u{FFFD}"
  }

  private mutating func codeUnit() throws(Malformed) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(next)).hexDigitValue else { throw malformed }
      unit = unit << 4 | UInt16(digit)
      position += 1
    }
    return unit
  }
}
