/// Foreign text made safe to print: characters that control a terminal, turn text around or hide in it are
/// escaped, as in `\x1b` and `\u202e`, and the text is cut at `longest` characters.
package func printable(_ text: String, longest: Int = .max) -> String {
  let scalars = text.unicodeScalars
  var shown = ""
  for scalar in scalars.prefix(longest) {
    if isShown(scalar) { shown.unicodeScalars.append(scalar) } else { shown += escape(scalar) }
  }
  return scalars.dropFirst(longest).isEmpty ? shown : shown + "…"
}

private func escape(_ scalar: Unicode.Scalar) -> String {
  let digits = String(scalar.value, radix: 16)
  let isShort = scalar.value < 0x100
  return (isShort ? "\\x" : "\\u") + String(repeating: "0", count: max(0, (isShort ? 2 : 4) - digits.count)) + digits
}

private func isShown(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator: false
  default: true
  }
}

extension ArraySlice<UInt8> {
  /// The bytes without those of `blanks` at either end.
  package func trimmed(of blanks: StaticString) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { blanks.withUTF8Buffer { unsafe $0.contains(byte) } }
    let start = drop(while: isBlank)
    let end = start.lastIndex { !isBlank($0) }
    return end.map { start[...$0] } ?? []
  }
}

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
