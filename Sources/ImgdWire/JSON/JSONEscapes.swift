/// The escapes of JSON strings, decoded.
enum JSONEscapes {
  /// The code unit of an escape such as `\u00e9` at `offset`; nil when there is none.
  static func codeUnit(at offset: Int, in text: Span<UInt8>) -> UInt16? {
    guard offset <= text.count - 6, text[offset] == UInt8(ascii: "\\"), text[offset + 1] == UInt8(ascii: "u") else {
      return nil
    }
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
  private static func decodeEscape(at index: Int, in text: Span<UInt8>, into value: inout [UInt8]) -> Int {
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

  private static func decodeUnicode(at index: Int, in text: Span<UInt8>, into value: inout [UInt8]) -> Int {
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
  @inline(__always) package static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// The lower-case digit of the low four bits.
  @inline(__always) static func digit(_ value: UInt8) -> UInt8 {
    let nibble = value & 0xF
    return nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + (nibble - 10)
  }

  /// The eight lower-case digits of the lower half of a number, the first in the lowest byte.
  ///
  /// All eight at once: the nibbles are spread over the bytes of a word, and those above 9 are shifted
  /// to the letters.
  @inline(__always) static func digits(of number: UInt64) -> UInt64 {
    var spread = UInt64(UInt32(truncatingIfNeeded: number).byteSwapped)
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
    let nibbles = (spread >> 4 | spread << 8) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
    return nibbles + 0x3030_3030_3030_3030 + letters * 0x27
  }

  /// The number of eight digits in either case, the first in the lowest byte; nil if one is none.
  @inline(__always) static func number(of digits: UInt64) -> UInt64? {
    var number = (digits & 0x0F0F_0F0F_0F0F_0F0F) + (digits >> 6 & 0x0101_0101_0101_0101) * 9
    number = (number << 4 | number >> 8) & 0x00FF_00FF_00FF_00FF
    number = (number << 8 | number >> 16) & 0x0000_FFFF_0000_FFFF
    number = (number << 16 | number >> 32) & 0xFFFF_FFFF
    // What is no digit is not what its number is written as. A control character looks like one in lower case.
    let isWritten = Self.digits(of: number) == digits | 0x2020_2020_2020_2020
    return isWritten && (digits | digits >> 1) & 0x2020_2020_2020_2020 == 0x2020_2020_2020_2020 ? number : nil
  }
}
