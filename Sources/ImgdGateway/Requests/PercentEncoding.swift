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
        guard let high = rest.next().flatMap(value), let low = rest.next().flatMap(value) else {
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
    bytes.count - place > 2 && bytes[place] == UInt8(ascii: "%")
      && value(of: bytes[place + 1]) != nil && value(of: bytes[place + 2]) != nil
  }

  static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
