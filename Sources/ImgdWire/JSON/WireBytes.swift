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

  /// Appends the characters of a string, escaped where necessary.
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
