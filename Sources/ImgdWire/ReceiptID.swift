/// The handle of one fetch: a UUID chosen by client or daemon, equal in either case and printed in lower case.
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
    ReceiptID(high: words.0 & ~0xF000 | 0x4000, low: words.1 & ~(0b11 << 62) | 0b10 << 62)
  }

  /// Reads the 8-4-4-4-12 form in either case; any version is accepted.
  package init?(_ text: Span<UInt8>) {
    let hyphen = UInt8(ascii: "-")
    guard text.count == Self.textLength, text[8] == hyphen, text[13] == hyphen, text[18] == hyphen, text[23] == hyphen
    else { return nil }
    // The hyphens in the middle of eight digits are passed over.
    let digits = unsafe text.withUnsafeBytes { bytes in
      let word = { (offset: Int) in
        // All offsets are at least eight bytes before the end.
        unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      }
      let joined = { (first: Int, second: Int) in word(first) & 0xFFFF_FFFF | word(second) << 32 }
      return (word(0), joined(9, 14), joined(19, 24), word(28))
    }
    guard let first = Hexadecimal.number(of: digits.0), let second = Hexadecimal.number(of: digits.1),
      let third = Hexadecimal.number(of: digits.2), let last = Hexadecimal.number(of: digits.3)
    else { return nil }
    self.init(high: first << 32 | second, low: third << 32 | last)
  }

  /// Reads the 8-4-4-4-12 form from a string.
  package init?(_ text: String) { self.init(Array(text.utf8).span) }

  /// Appends the canonical text.
  package func append(to bytes: inout [UInt8]) {
    bytes.append(addingCapacity: Self.textLength) { (text: inout OutputSpan<UInt8>) in
      unsafe text.withUnsafeMutableBufferPointer { buffer, count in
        guard let start = buffer.baseAddress else { return }
        unsafe write(to: start + count)
        count += Self.textLength
      }
    }
  }

  /// Writes the canonical text, eight digits at a time; where a hyphen divides them, the second half is written again.
  @unsafe func write(to start: UnsafeMutablePointer<UInt8>) {
    let place = UnsafeMutableRawPointer(start)
    let put = { (digits: UInt64, offset: Int) in
      unsafe place.storeBytes(of: digits.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
    let second = Hexadecimal.digits(of: high)
    let third = Hexadecimal.digits(of: low >> 32)
    put(Hexadecimal.digits(of: high >> 32), 0)
    put(second, 9)
    put(second >> 32, 14)
    put(third, 19)
    put(third >> 32, 24)
    put(Hexadecimal.digits(of: low), 28)
    unsafe start[8] = UInt8(ascii: "-")
    unsafe start[13] = UInt8(ascii: "-")
    unsafe start[18] = UInt8(ascii: "-")
    unsafe start[23] = UInt8(ascii: "-")
  }

  package var description: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
