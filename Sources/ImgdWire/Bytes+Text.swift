extension [UInt8] {
  /// Appends a number in decimal.
  package mutating func appendDecimal(_ value: Int) {
    if value < 0 { append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    guard rest >= 10 else { return append(UInt8(ascii: "0") + UInt8(rest)) }
    let start = count
    while rest > 0 {
      append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    }
    self[start...].reverse()
  }

  /// Appends text as the inside of a JSON string.
  mutating func appendEscaped(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      let bytes = unsafe utf8.span
      var isPlain = true
      for index in bytes.indices where mustBeEscaped(bytes[index]) { isPlain = false }
      guard !isPlain else { return unsafe append(contentsOf: utf8) }
      for index in bytes.indices { appendEscaped(bytes[index]) }
    }
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    guard mustBeEscaped(byte) else { return append(byte) }
    append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0D: append(UInt8(ascii: "r"))
    case 0x09: append(UInt8(ascii: "t"))
    default:
      append(contentsOf: "u00".utf8)
      append(hexCharacter(byte >> 4))
      append(hexCharacter(byte & 15))
    }
  }

  private static let base64Alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// Appends bytes in base64, with padding.
  mutating func appendBase64(_ content: Span<UInt8>) {
    reserveCapacity(count + (content.count + 2) / 3 * 4)
    let alphabet = Self.base64Alphabet
    var index = 0
    while index < content.count {
      let left = Swift.min(content.count - index, 3)
      var group = UInt32(content[index]) << 16
      if left > 1 { group |= UInt32(content[index + 1]) << 8 }
      if left > 2 { group |= UInt32(content[index + 2]) }
      append(alphabet[Int(group >> 18)])
      append(alphabet[Int(group >> 12 & 63)])
      append(left > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
      append(left > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
      index += 3
    }
  }
}

private func mustBeEscaped(_ byte: UInt8) -> Bool {
  byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
}

@inline(__always)
func hexCharacter(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
