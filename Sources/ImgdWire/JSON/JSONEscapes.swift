/// The escapes of JSON strings, decoded.
enum JSONEscapes {
  /// The code unit of an escape such as `\u00e9` at `offset`; nil when there is none.
  static func codeUnit(at offset: Int, in text: Span<UInt8>) -> UInt16? {
    guard offset <= text.count - 6, text[offset] == UInt8(ascii: "\\"),
      text[offset + 1] == UInt8(ascii: "u")
    else { return nil }
    var unit: UInt16 = 0
    for index in offset + 2..<offset + 6 {
      guard let digit = Hexadecimal.value(of: text[index]) else { return nil }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }

  /// The value of a string that the scanner has accepted.
  static func decode(_ text: Span<UInt8>) -> [UInt8] {
    var value: [UInt8] = []
    value.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      if text[index] == UInt8(ascii: "\\"), index + 1 < text.count {
        index = decodeEscape(at: index, in: text, into: &value)
      } else {
        value.append(text[index])
        index += 1
      }
    }
    return value
  }

  /// Appends one escaped character and returns where the next one starts.
  private static func decodeEscape(
    at index: Int, in text: Span<UInt8>, into value: inout [UInt8]
  ) -> Int {
    switch text[index + 1] {
    case UInt8(ascii: "u"): return decodeUnicode(at: index, in: text, into: &value)
    case UInt8(ascii: "b"): value.append(0x08)
    case UInt8(ascii: "f"): value.append(0x0C)
    case UInt8(ascii: "n"): value.append(0x0A)
    case UInt8(ascii: "r"): value.append(0x0D)
    case UInt8(ascii: "t"): value.append(0x09)
    case let itself: value.append(itself)
    }
    return index + 2
  }

  private static func decodeUnicode(
    at index: Int, in text: Span<UInt8>, into value: inout [UInt8]
  ) -> Int {
    let unit = UInt32(codeUnit(at: index, in: text) ?? 0xFFFD)
    var (scalar, next) = (unit, index + 6)
    if unit & 0xFC00 == 0xD800, let low = codeUnit(at: next, in: text) {
      scalar = 0x10000 + (unit & 0x3FF) << 10 + UInt32(low & 0x3FF)
      next += 6
    }
    value.append(contentsOf: String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
    return next
  }
}

/// Digits of base sixteen.
package enum Hexadecimal {
  /// The value of a digit in either case.
  @inline(__always)
  package static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// The lower-case digit of the low four bits.
  @inline(__always)
  static func digit(_ value: UInt8) -> UInt8 {
    let nibble = value & 0xF
    return nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + (nibble - 10)
  }
}
