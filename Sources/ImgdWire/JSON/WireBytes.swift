/// The building blocks of `JSONWriter`.
extension [UInt8] {
  /// Appends a string literal as it is.
  package mutating func appendText(_ text: StaticString) {
    // A static string's bytes are never freed.
    unsafe append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
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

  /// Appends the characters of a string, escaped where necessary.
  private mutating func appendEscaped(_ text: Span<UInt8>) {
    var plain = 0
    for index in text.indices where text[index].needsEscape {
      appendBytes(text.extracting(plain..<index))
      appendEscape(text[index])
      plain = index + 1
    }
    appendBytes(text.extracting(plain..<text.count))
  }

  /// Appends bytes as they are.
  package mutating func appendBytes(_ bytes: Span<UInt8>) {
    // The buffer is only read while the span is borrowed.
    unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
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
    default:
      appendText("u00")
      append(Hexadecimal.digit(byte >> 4))
      append(Hexadecimal.digit(byte))
    }
  }
}

extension UInt8 {
  @inline(__always)
  fileprivate var needsEscape: Bool {
    self < 0x20 || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\") || self == 0x7F
  }
}
