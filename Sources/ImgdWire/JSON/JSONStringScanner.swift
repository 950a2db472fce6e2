/// The careful part of reading a string: escapes, multibyte characters, and what is forbidden.
struct JSONStringScanner {
  private(set) var position: Int

  /// Reads to the closing quote; the string's first byte is at `start`.
  mutating func token(from start: Int, in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
    var isEscaped = false
    while position < text.count {
      switch text[position] {
      case UInt8(ascii: "\""):
        position += 1
        return JSONToken(.string, start, position - 1, isEscaped: isEscaped)
      case UInt8(ascii: "\\"):
        isEscaped = true
        try escape(in: text)
      case 0..<0x20: throw failure(.noControl)
      case 0x20..<0x80: position += 1
      default: try multibyte(in: text)
      }
    }
    throw failure(.closingQuote)
  }

  /// One character of two to four bytes: table 3-7 of the Unicode standard, so neither overlong
  /// forms nor surrogates nor anything above U+10FFFF.
  private mutating func multibyte(in text: Span<UInt8>) throws(JSONSyntaxError) {
    let (length, second): (Int, ClosedRange<UInt8>)
    switch text[position] {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: throw failure(.utf8)
    }
    guard length <= text.count - position, second.contains(text[position + 1]) else { throw failure(.utf8) }
    for index in position + 2..<max(position + 2, position + length) {
      guard text[index] & 0xC0 == 0x80 else { throw failure(.utf8) }
    }
    position = position + length
  }

  /// One escape, whose backslash is at the position; a surrogate includes its partner.
  private mutating func escape(in text: Span<UInt8>) throws(JSONSyntaxError) {
    guard position + 1 < text.count else { throw failure(.escape) }
    switch text[position + 1] {
    case UInt8(ascii: "u"): try unicodeEscape(in: text)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position = position + 2
    default: throw failure(.escape)
    }
  }

  private mutating func unicodeEscape(in text: Span<UInt8>) throws(JSONSyntaxError) {
    guard let unit = JSONEscapes.codeUnit(at: position, in: text) else { throw failure(.hexadecimal) }
    switch unit {
    case 0xD800...0xDBFF:
      guard let low = JSONEscapes.codeUnit(at: position + 6, in: text), low & 0xFC00 == 0xDC00 else {
        throw failure(.surrogatePair)
      }
      position = position + 12
    case 0xDC00...0xDFFF: throw failure(.surrogatePair)
    default: position = position + 6
    }
  }

  private func failure(_ expected: JSONSyntaxError.Expectation) -> JSONSyntaxError {
    JSONSyntaxError(offset: position, expected: expected)
  }
}

/// Printable ASCII that needs no escape, recognised eight bytes at a time.
enum PlainText {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  static let tops: UInt64 = 0x8080_8080_8080_8080

  /// Whether the eight bytes hold no quotes, backslashes, control characters or bytes beyond ASCII;
  /// the caller has checked that they lie in the text.
  @inline(__always) static func isPlain(_ text: Span<UInt8>, at index: Int) -> Bool {
    let word = unsafe text.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
    return marks(word) & tops == 0
  }

  /// One of the bits of `tops` is set if any of the eight bytes is not plain. A subtraction sets the top bit of a
  /// byte that is too small, or that was beyond ASCII before; only such a byte causes a borrow.
  @inline(__always) static func marks(_ word: UInt64) -> UInt64 {
    let controls = word &- ones &* 0x20
    let quotes = (word ^ ones &* UInt64(UInt8(ascii: "\""))) &- ones
    let backslashes = (word ^ ones &* UInt64(UInt8(ascii: "\\"))) &- ones
    return word | controls | quotes | backslashes
  }

  @inline(__always) static func isPlain(_ byte: UInt8) -> Bool {
    0x20..<0x80 ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// Whether the eight bytes are plain and none is DEL, which a reader accepts and a terminal does not.
  @inline(__always) static func isShown(_ text: Span<UInt8>, at index: Int) -> Bool {
    let word = unsafe text.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
    return zeros(word ^ ones &* 0x7F) & tops == 0 && isPlain(text, at: index)
  }

  /// Sets the top bit of each zero byte. A borrow may set it in the byte above, too, which is then checked on its
  /// own.
  @inline(__always) private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
}

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

  /// The eight lower-case digits of the lower half of a number, the first in the lowest byte. All eight at once: the
  /// nibbles are spread over the bytes of a word, and those above 9 are shifted to the letters.
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
