import ImgdWire

/// The escapes of RFC 3986: `%` and two hexadecimal digits.
enum PercentEncoding {
  /// The bytes that a text stands for; nil if a `%` is not followed by two digits.
  static func decoded(_ text: Substring, plusIsBlank: Bool = false) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(Hexadecimal.value), let low = rest.next().flatMap(Hexadecimal.value) else {
          return nil
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsBlank: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  /// Whether an escape begins at the place.
  static func isEscape(_ bytes: [UInt8], at place: Int) -> Bool {
    bytes.count - place > 2 && bytes[place] == UInt8(ascii: "%") && Hexadecimal.value(of: bytes[place + 1]) != nil
      && Hexadecimal.value(of: bytes[place + 2]) != nil
  }

  static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
}
