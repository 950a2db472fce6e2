/// Base64 of RFC 4648, padded, as the service manager writes bytes into a variable.
package enum Base64Decoder {
  /// The bytes that a text stands for; nil when it is not exactly what an encoder writes.
  package static func bytes(_ text: String) -> [UInt8]? {
    let letters = Array(text.utf8)
    guard letters.count.isMultiple(of: 4) else { return nil }
    let padding = letters.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    var bytes: [UInt8] = []
    var pending = 0
    for (index, letter) in letters.dropLast(padding).enumerated() {
      guard let value = value(of: letter) else { return nil }
      pending = pending << 6 & 0xfff | value
      // Of each four letters, all but the first complete a byte.
      let spare = 6 - 2 * (index % 4)
      if spare < 6 { bytes.append(UInt8(pending >> spare & 0xff)) }
    }
    let unused = padding == 0 ? 0 : pending & (1 << (2 * padding) - 1)
    return unused == 0 ? bytes : nil
  }

  private static func value(of letter: UInt8) -> Int? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(letter - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(letter - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(letter - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
