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

  /// One of the bits of `tops` is set if any of the eight bytes is not plain.
  ///
  /// A subtraction sets the top bit of a byte that is too small, or that was beyond ASCII before; only such a byte
  /// causes a borrow.
  @inline(__always) static func marks(_ word: UInt64) -> UInt64 {
    let controls = word &- ones &* 0x20
    let quotes = (word ^ ones &* UInt64(UInt8(ascii: "\""))) &- ones
    let backslashes = (word ^ ones &* UInt64(UInt8(ascii: "\\"))) &- ones
    return word | controls | quotes | backslashes
  }

  /// Whether a single byte is plain.
  @inline(__always) static func isPlain(_ byte: UInt8) -> Bool {
    0x20..<0x80 ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// Whether the eight bytes are plain and none is DEL, which a reader accepts and a terminal does not.
  @inline(__always) static func isShown(_ text: Span<UInt8>, at index: Int) -> Bool {
    let word = unsafe text.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
    return zeros(word ^ ones &* 0x7F) & tops == 0 && isPlain(text, at: index)
  }

  /// Sets the top bit of each byte that is zero. A borrow may set it in the byte above as well; that
  /// byte is then checked on its own.
  @inline(__always) private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
}
