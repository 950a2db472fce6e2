extension JSONScanner {
  /// A number, whose sign or first digit stands at the position.
  @inline(__always)
  mutating func number(in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
    let start = position
    var kind = JSONToken.Kind.integer
    if text[position] == UInt8(ascii: "-") { advance(to: position + 1) }
    try wholePart(in: text)
    if position < text.count, isFractionOrExponent(text[position]) {
      kind = .number
      try fractionAndExponent(in: text)
    }
    let token = JSONToken(kind, start, position)
    // Every number of up to 300 digits fits a double.
    if kind == .number || position - start > 300 {
      guard token.double(in: text).isFinite else {
        throw JSONSyntaxError(offset: start, expected: .finite)
      }
    }
    return token
  }

  @inline(__always)
  private mutating func wholePart(in text: Span<UInt8>) throws(JSONSyntaxError) {
    let start = position
    try digits(in: text)
    if text[start] == UInt8(ascii: "0"), position > start + 1 {
      throw JSONSyntaxError(offset: start + 1, expected: .noLeadingZero)
    }
  }

  private mutating func fractionAndExponent(in text: Span<UInt8>) throws(JSONSyntaxError) {
    if text[position] == UInt8(ascii: ".") {
      advance(to: position + 1)
      try digits(in: text)
    }
    guard position < text.count, text[position] | 0x20 == UInt8(ascii: "e") else { return }
    advance(to: position + 1)
    if position < text.count, isSign(text[position]) { advance(to: position + 1) }
    try digits(in: text)
  }

  /// One digit or more.
  @inline(__always)
  private mutating func digits(in text: Span<UInt8>) throws(JSONSyntaxError) {
    var index = position
    while index < text.count, isDigit(text[index]) { index += 1 }
    guard index > position else { throw failure(.digit) }
    advance(to: index)
  }

  @inline(__always)
  private func isDigit(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10
  }

  private func isSign(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
  }

  @inline(__always)
  private func isFractionOrExponent(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
  }
}
