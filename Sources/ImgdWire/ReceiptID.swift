/// The handle of one fetch: a UUID, chosen by the client or made by the daemon.
///
/// Two spellings of one UUID are equal; it is printed in lower case.
package struct ReceiptID: Hashable, Sendable, CustomStringConvertible {
  /// Bytes of its text.
  package static let textLength = 36

  let high: UInt64
  let low: UInt64

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A version 4 UUID of 128 random bits, six of which are overwritten.
  package static func random(using words: (UInt64, UInt64)) -> ReceiptID {
    ReceiptID(
      high: words.0 & ~0xF000 | 0x4000,
      low: words.1 & ~(0b11 << 62) | 0b10 << 62)
  }

  /// Reads the 8-4-4-4-12 form in either case; any version is accepted.
  package init?(_ text: Span<UInt8>) {
    guard text.count == Self.textLength else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for index in 0..<Self.textLength {
      if Self.isHyphen(index) {
        guard text[index] == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let digit = Hexadecimal.value(of: text[index]) else { return nil }
      high = high << 4 | low >> 60
      low = low << 4 | UInt64(digit)
    }
    self.init(high: high, low: low)
  }

  /// Reads the 8-4-4-4-12 form from a string.
  package init?(_ text: String) {
    self.init(Array(text.utf8).span)
  }

  /// Appends the canonical text.
  package func append(to bytes: inout [UInt8]) {
    bytes.append(addingCapacity: Self.textLength) { (text: inout OutputSpan<UInt8>) in
      Self.append(high, hyphensBefore: (2, 3), to: &text)
      text.append(UInt8(ascii: "-"))
      Self.append(low, hyphensBefore: (1, 0), to: &text)
    }
  }

  /// Appends sixteen digits in groups of four, with hyphens before two of the groups or one.
  private static func append(
    _ half: UInt64, hyphensBefore hyphens: (Int, Int), to text: inout OutputSpan<UInt8>
  ) {
    for group in 0..<4 {
      if group > 0, group == hyphens.0 || group == hyphens.1 { text.append(UInt8(ascii: "-")) }
      let digits = half >> UInt64(48 - 16 * group)
      for place in 0..<4 {
        let digit = digits >> UInt64(12 - 4 * place)
        text.append(Hexadecimal.digit(UInt8(truncatingIfNeeded: digit)))
      }
    }
  }

  package var description: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  @inline(__always)
  private static func isHyphen(_ index: Int) -> Bool {
    index == 8 || index == 13 || index == 18 || index == 23
  }
}
