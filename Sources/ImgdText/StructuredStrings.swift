/// A structured field that is a list of strings (RFC 9651).
///
/// What breaks its rules anywhere is no such field, whole: a guess at what was meant would be another list for each
/// program that reads it.
package struct StructuredStrings {
  private let bytes: [UInt8]
  private var index = 0

  private init(_ text: String) { bytes = Array(text.utf8) }

  /// The strings of a field, without their parameters; nil for one that is anything else. A field that came in several
  /// lines is read as one, joined by commas.
  package static func list(_ text: String) -> [String]? {
    var reader = Self(text)
    return reader.list()
  }

  private mutating func list() -> [String]? {
    var strings: [String] = []
    skip { $0 == 0x20 }
    while next != nil {
      guard let string = string(), skipParameters() else { return nil }
      strings.append(string)
      skip { $0 == 0x20 || $0 == 0x09 }
      guard next != nil else { break }
      guard take(","), skipToMember() else { return nil }
    }
    return strings
  }

  /// Moves to the next member; false at the end, since no list ends with a comma.
  private mutating func skipToMember() -> Bool {
    skip { $0 == 0x20 || $0 == 0x09 }
    return next != nil
  }

  /// Takes a string (3.3.3): printable ASCII in quotes, with escapes for quotes and backslashes alone.
  private mutating func string() -> String? {
    guard take("\"") else { return nil }
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = next, escaped == UInt8(ascii: "\"") || escaped == byte else { return nil }
        text.append(escaped)
        index += 1
      case 0x20...0x7E: text.append(byte)
      default: return nil
      }
    }
    return nil
  }

  // MARK: Parameters

  /// Moves past parameters (3.1.2), which mean nothing here but have to be right.
  private mutating func skipParameters() -> Bool {
    while take(";") {
      skip { $0 == 0x20 }
      guard let first = next, isLowerCase(first) || first == UInt8(ascii: "*") else { return false }
      skip { isLowerCase($0) || isDigit($0) || "_-.*".utf8.contains($0) }
      if take("="), !skipItem() { return false }
    }
    return true
  }

  /// Moves past a bare item of any kind (3.3).
  private mutating func skipItem() -> Bool {
    switch next {
    case UInt8(ascii: "\"")?: return string() != nil
    case UInt8(ascii: "?")?:
      index += 1
      return take("0") || take("1")
    case UInt8(ascii: ":")?:
      index += 1
      skip { isLetter($0) || isDigit($0) || "+/=".utf8.contains($0) }
      return take(":")
    case UInt8(ascii: "@")?:
      index += 1
      return skipNumber(isWhole: true)
    case UInt8(ascii: "%")?:
      index += 1
      return string() != nil
    case let byte? where isLetter(byte) || byte == UInt8(ascii: "*"):
      skip { isLetter($0) || isDigit($0) || "!#$%&'*+-.^_`|~:/".utf8.contains($0) }
      return true
    default: return skipNumber()
    }
  }

  /// Moves past an integer of up to 15 digits, or a decimal of up to 12 and 3.
  private mutating func skipNumber(isWhole: Bool = false) -> Bool {
    _ = take("-")
    let whole = skip(isDigit)
    guard !isWhole, take(".") else { return 1...15 ~= whole }
    return 1...12 ~= whole && 1...3 ~= skip(isDigit)
  }

  // MARK: Bytes

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  @discardableResult private mutating func skip(_ isMeant: (UInt8) -> Bool) -> Int {
    let start = index
    while let byte = next, isMeant(byte) { index += 1 }
    return index - start
  }
}

private func isLowerCase(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "a") < 26 }

private func isLetter(_ byte: UInt8) -> Bool { isLowerCase(byte | 0x20) }

private func isDigit(_ byte: UInt8) -> Bool { decimalValue(byte) != nil }
