internal import CBase64

/// The building blocks of `JSONWriter`.
extension [UInt8] {
  /// Appends a string literal as it is.
  package mutating func appendText(_ text: StaticString) {
    // A static string's bytes are never freed.
    unsafe append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends a number in decimal digits.
  package mutating func appendInteger(_ number: Int64) {
    if number < 0 { append(UInt8(ascii: "-")) }
    appendInteger(number.magnitude)
  }

  /// Appends a number in decimal digits.
  package mutating func appendInteger(_ number: UInt64) {
    if number < 10 { return append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number)) }
    var (rest, length) = (number, 0)
    var reversed = InlineArray<20, UInt8>(repeating: 0)
    while rest > 0 {
      reversed[length] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
      length += 1
    }
    append(addingCapacity: length) { (digits: inout OutputSpan<UInt8>) in
      while length > 0 {
        length -= 1
        digits.append(reversed[length])
      }
    }
  }

  /// Appends a duration in milliseconds with one decimal, rounded down.
  package mutating func appendMilliseconds(microseconds: UInt64) {
    appendInteger(microseconds / 1000)
    append(UInt8(ascii: "."))
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: microseconds / 100 % 10))
  }

  /// Appends a string with its quotes, escaped where necessary.
  package mutating func appendString(_ string: String) {
    append(UInt8(ascii: "\""))
    appendEscaped(string.utf8.span)
    append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ text: Span<UInt8>) {
    var (plain, index) = (0, 0)
    while index < text.count {
      if index + 8 <= text.count, PlainText.isShown(text, at: index) {
        index += 8
        continue
      }
      // Words are examined whole again only after this one.
      let end = Swift.min(index + 8, text.count)
      while index < end {
        let length = text.lengthToEscape(at: index)
        if length > 0 {
          appendBytes(text.extracting(plain..<index))
          appendEscape(of: text.extracting(index..<index + length))
          plain = index + length
        }
        index += Swift.max(length, 1)
      }
    }
    appendBytes(text.extracting(plain..<text.count))
  }

  /// Appends bytes as they are.
  package mutating func appendBytes(_ bytes: Span<UInt8>) {
    // The buffer is only read while the span is borrowed.
    unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  private mutating func appendEscape(of character: Span<UInt8>) {
    guard character.count > 1 else { return appendEscape(character[0]) }
    appendEscapes(of: HiddenCharacters.scalar(character))
  }

  private mutating func appendEscape(_ byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    default: appendCodeUnit(UInt16(byte))
    }
  }

  /// Appends a character as one escape, or as two where it needs a pair of surrogates.
  private mutating func appendEscapes(of scalar: UInt32) {
    for unit in Unicode.Scalar(scalar).map({ Array<UInt16>($0.utf16) }) ?? [] {
      append(UInt8(ascii: "\\"))
      appendCodeUnit(unit)
    }
  }

  private mutating func appendCodeUnit(_ unit: UInt16) {
    append(UInt8(ascii: "u"))
    for shift in [12, 8, 4, 0] { append(Hexadecimal.digit(UInt8(truncatingIfNeeded: unit >> UInt16(shift)))) }
  }
}

extension Span<UInt8> {
  /// The length of the character at `index` if it has to be escaped, and otherwise 0.
  @inline(__always) fileprivate func lengthToEscape(at index: Int) -> Int {
    let byte = self[index]
    guard byte < 0x80 else { return HiddenCharacters.length(at: index, in: self) }
    return byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F ? 1 : 0
  }
}

// Some characters are not shown but do something: on a terminal U+009B begins a command, U+202E turns
// the rest of a line around, and others divide lines or hide in a name. JSON allows all of them in a
// string. They are escaped all the same, because lines are read by people too, and text of clients and
// origins is in them: escapes cost a program nothing, and a terminal shows them as they are.

/// Characters beyond ASCII that control or format what is shown, and are not shown themselves.
enum HiddenCharacters {
  /// C1 controls, direction marks, line separators, and characters that take no room.
  static func contains(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x80...0x9F, 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB,
      0xE0000...0xE007F:
      true
    default: false
    }
  }

  /// The length of such a character that begins at `index` of well-formed UTF-8; 0 for any other byte.
  @inline(__always) static func length(at index: Int, in text: Span<UInt8>) -> Int {
    // The bytes with which those above begin, which decide most cases.
    switch text[index] {
    case 0xC2, 0xD8: length(2, at: index, in: text)
    case 0xE1, 0xE2, 0xEF: length(3, at: index, in: text)
    case 0xF3: length(4, at: index, in: text)
    default: 0
    }
  }

  private static func length(_ length: Int, at index: Int, in text: Span<UInt8>) -> Int {
    contains(scalar(text.extracting(index..<index + length))) ? length : 0
  }

  /// The character that two to four bytes of well-formed UTF-8 encode.
  static func scalar(_ bytes: Span<UInt8>) -> UInt32 {
    var scalar = UInt32(bytes[0]) & (0x7F >> UInt32(bytes.count))
    for index in 1..<bytes.count { scalar = scalar << 6 | UInt32(bytes[index] & 0x3F) }
    return scalar
  }
}

/// Base64 of RFC 4648 with padding, written straight into the bytes of a reply: a line with a picture in it consists
/// mostly of this. Where the processor has vector instructions, they take 24 bytes at a time. Elsewhere six bytes
/// become eight letters, by four look-ups in a table of all pairs of letters.
enum Base64 {
  private static let letters: [UInt8] = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The two letters of each number of twelve bits, the first in the lower byte.
  private static let pairs: [UInt16] = (0..<4_096).map { bits in
    UInt16(letters[bits >> 6]) | UInt16(letters[bits & 63]) << 8
  }

  static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
    text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { (text: inout OutputSpan<UInt8>) in
      appendRest(of: bytes, from: appendVectors(of: bytes, to: &text), to: &text)
    }
  }

  private static func appendRest(of bytes: Span<UInt8>, from start: Int, to text: inout OutputSpan<UInt8>) {
    let rest = bytes.extracting(droppingFirst: start)
    appendGroups(of: rest, from: appendWords(of: rest, to: &text), to: &text)
  }

  /// Encodes as many bytes as the vector instructions take; returns how many those were.
  private static func appendVectors(of bytes: Span<UInt8>, to text: inout OutputSpan<UInt8>) -> Int {
    // Both stay within their bounds: the room is for the letters of all bytes.
    unsafe bytes.withUnsafeBufferPointer { source in
      unsafe text.withUnsafeMutableBufferPointer { room, written in
        guard let from = source.baseAddress, let to = room.baseAddress else { return 0 }
        let done = unsafe base64_encode_vectors(from, source.count, to)
        written = done / 3 * 4
        return done
      }
    }
  }

  /// Encodes groups of six bytes, as long as two more follow; returns how many bytes those were.
  private static func appendWords(of bytes: Span<UInt8>, to text: inout OutputSpan<UInt8>) -> Int {
    let sixes = max(bytes.count - 2, 0) / 6
    let pairs = pairs.span
    // Each word is read within the bytes, and written within the room that was asked for.
    unsafe bytes.withUnsafeBytes { source in
      unsafe text.withUnsafeMutableBufferPointer { room, written in
        let target = unsafe UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: room[written...]))
        for six in 0..<sixes {
          let word = unsafe source.loadUnaligned(fromByteOffset: 6 * six, as: UInt64.self).bigEndian
          unsafe target.storeBytes(of: eightLetters(word, pairs).littleEndian, toByteOffset: 8 * six, as: UInt64.self)
        }
        written += 8 * sixes
      }
    }
    return 6 * sixes
  }

  /// The letters of the upper six bytes of a word.
  @inline(__always) private static func eightLetters(_ word: UInt64, _ pairs: Span<UInt16>) -> UInt64 {
    UInt64(pairs[Int(word >> 52)]) | UInt64(pairs[Int(word >> 40 & 4_095)]) << 16 | UInt64(
      pairs[Int(word >> 28 & 4_095)]) << 32 | UInt64(pairs[Int(word >> 16 & 4_095)]) << 48
  }

  /// Encodes the bytes from `start` on in groups of three, the last one padded to four letters.
  private static func appendGroups(of bytes: Span<UInt8>, from start: Int, to text: inout OutputSpan<UInt8>) {
    let letters = letters.span
    for index in stride(from: start, to: bytes.count, by: 3) {
      let left = bytes.count - index
      let group =
        Int(bytes[index]) << 16 | (left > 1 ? Int(bytes[index + 1]) << 8 : 0) | (left > 2 ? Int(bytes[index + 2]) : 0)
      text.append(letters[group >> 18])
      text.append(letters[group >> 12 & 63])
      text.append(left > 1 ? letters[group >> 6 & 63] : UInt8(ascii: "="))
      text.append(left > 2 ? letters[group & 63] : UInt8(ascii: "="))
    }
  }
}

extension [UInt8] {
  /// Appends the letters of base64 that stand for the bytes.
  package mutating func append(base64 bytes: Span<UInt8>) { Base64.append(bytes, to: &self) }
}
