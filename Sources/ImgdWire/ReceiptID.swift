/// The handle of a fetch: a UUID, compared by value.
package struct ReceiptID: Hashable, Sendable, CustomStringConvertible {
  private let high: UInt64
  private let low: UInt64

  /// A version 4 UUID made of random bits.
  package static func random(using words: (UInt64, UInt64)) -> ReceiptID {
    ReceiptID(
      high: words.0 & 0xffff_ffff_ffff_0fff | 0x4000,
      low: words.1 & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000)
  }

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads the usual form, eight, four, four, four and twelve digits of either case.
  package init?(_ text: String) {
    guard text.utf8.count == 36 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    for (index, byte) in text.utf8.enumerated() {
      if Self.isDash(index) {
        guard byte == UInt8(ascii: "-") else { return nil }
      } else {
        guard let digit = hexDigit(byte) else { return nil }
        words.0 = words.0 << 4 | words.1 >> 60
        words.1 = words.1 << 4 | UInt64(digit)
      }
    }
    self.init(high: words.0, low: words.1)
  }

  package func append(to bytes: inout [UInt8]) {
    for shift in stride(from: 60, through: 0, by: -4) {
      if shift == 28 || shift == 12 { bytes.append(UInt8(ascii: "-")) }
      bytes.append(hexCharacter(UInt8(high >> UInt64(shift) & 15)))
    }
    for shift in stride(from: 60, through: 0, by: -4) {
      if shift == 60 || shift == 44 { bytes.append(UInt8(ascii: "-")) }
      bytes.append(hexCharacter(UInt8(low >> UInt64(shift) & 15)))
    }
  }

  package var description: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isDash(_ index: Int) -> Bool {
    index == 8 || index == 13 || index == 18 || index == 23
  }
}

/// What a client calls its request, echoed in every line that belongs to it.
package enum RequestID: Hashable, Sendable {
  case none
  case integer(Int64)
  case string(String)
}
