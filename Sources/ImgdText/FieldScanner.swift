/// Walks over the value of a header field.
package struct FieldScanner {
  private let bytes: [UInt8]
  private var index = 0
  /// Whether a quoted string has begun that never ends: where its member ends is a guess.
  package private(set) var isTorn = false

  package init(_ text: String) {
    bytes = Array(text.utf8)
    skipBlanks()
  }

  /// Whether nothing is left but blanks.
  package var isAtEnd: Bool { bytes[index...].allSatisfy(isBlank) }

  /// Whether nothing is left of a member but blanks.
  package var isAtEndOfMember: Bool { bytes[index...].first { !isBlank($0) }.map { $0 == UInt8(ascii: ",") } ?? true }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  /// Whether a byte comes next.
  package func isAt(_ byte: UInt8) -> Bool { next == byte }

  /// Whether a member of a list ends here.
  package var isAtMemberEnd: Bool { next == nil || isAt(UInt8(ascii: ",")) }

  /// Skips spaces and tabs.
  package mutating func skipBlanks() { while let byte = next, isBlank(byte) { index += 1 } }

  /// Takes one space, as found in dates.
  package mutating func takeBlank() -> Bool { takeByte(0x20) }

  /// Moves past a byte if it comes next; returns whether it did.
  package mutating func takeByte(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  /// Takes a run of letters, and returns it in lower case.
  package mutating func takeLetters() -> [UInt8]? {
    let start = index
    while let byte = next, (byte | 0x20) &- UInt8(ascii: "a") < 26 { index += 1 }
    return index > start ? bytes[start..<index].map { $0 | 0x20 } : nil
  }

  /// Takes a decimal number with as many digits as allowed; a longer run of digits is refused.
  package mutating func takeNumber(digits: ClosedRange<Int>) -> Int? {
    let start = index
    var number = 0
    while let byte = next, let digit = decimalValue(byte), index - start < digits.upperBound {
      number = number * 10 + digit
      index += 1
    }
    let isEnded = next.flatMap(decimalValue) == nil
    return isEnded && digits.contains(index - start) ? number : nil
  }

  /// Takes a token of HTTP, and returns it in lower case.
  package mutating func takeToken() -> String? { takeWrittenToken()?.lowercased() }

  /// Takes a token of HTTP as it was written.
  package mutating func takeWrittenToken() -> String? {
    let start = index
    while let byte = next, isTokenByte(byte) { index += 1 }
    return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil
  }

  /// Takes a quoted string, and returns its content with the escapes resolved. Nil for a string that never ends: only
  /// its opening quote is skipped, and quotes mean nothing from there on, so none hides a directive.
  package mutating func takeQuoted() -> String? {
    guard takeByte(UInt8(ascii: "\"")), !isTorn else { return nil }
    let start = index
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      if let escaped = next {
        text.append(escaped)
        index += 1
      }
    }
    isTorn = true
    index = start
    return nil
  }

  /// Takes the text up to the next comma, without the blanks around it.
  package mutating func takeArgument() -> String {
    let start = index
    while let byte = next, byte != UInt8(ascii: ",") { index += 1 }
    return text(from: start)
  }

  /// Takes the text up to the next comma outside quotes, quotes and all, without the blanks around
  /// it. A quoted string that never ends extends to the end of the field.
  package mutating func takeMember() -> String {
    skipBlanks()
    let start = index
    while let byte = next, byte != UInt8(ascii: ",") {
      if byte != UInt8(ascii: "\"") { index += 1 } else if takeQuoted() == nil { index = bytes.count }
    }
    return text(from: start)
  }

  /// Takes an entity tag (RFC 9110, 8.8.3): the part between its quotes, and whether it is weak.
  mutating func takeEntityTag() -> (opaque: ArraySlice<UInt8>, isWeak: Bool)? {
    let isWeak = takeByte(UInt8(ascii: "W"))
    if isWeak, !takeByte(UInt8(ascii: "/")) { return nil }
    guard takeByte(UInt8(ascii: "\"")) else { return nil }
    let start = index
    while let byte = next, byte == 0x21 || 0x23...0x7E ~= byte || byte >= 0x80 { index += 1 }
    let opaque = bytes[start..<index]
    return takeByte(UInt8(ascii: "\"")) ? (opaque, isWeak) : nil
  }

  private func text(from start: Int) -> String {
    let end = bytes[start..<index].lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
    return String(decoding: bytes[start..<end], as: UTF8.self)
  }

  /// Moves past commas and blanks to the next member; returns false at the end.
  mutating func skipToMember() -> Bool {
    repeat { skipBlanks() } while takeByte(UInt8(ascii: ","))
    return next != nil
  }

  /// Moves past the next comma outside quotes; returns false at the end of the field.
  package mutating func nextMember() -> Bool {
    while let byte = next {
      if byte == UInt8(ascii: "\"") { _ = takeQuoted() } else { index += 1 }
      if byte == UInt8(ascii: ",") { return true }
    }
    return false
  }
}

private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

private func isTokenByte(_ byte: UInt8) -> Bool {
  if (byte | 0x20) &- UInt8(ascii: "a") < 26 || decimalValue(byte) != nil { return true }
  return "!#$%&'*+-.^_`|~".utf8.contains(byte)
}

/// The value of a decimal digit; nil for any other byte.
@inlinable @inline(__always) package func decimalValue(_ byte: UInt8) -> Int? {
  let digit = byte &- UInt8(ascii: "0")
  return digit < 10 ? Int(digit) : nil
}

/// Looks for an entity tag in the lists of If-None-Match and If-Match (RFC 9110, 8.8.3, 13.1). The part between the
/// quotes is compared byte for byte. It has no escapes, so that `"\"` is a whole tag, and commas in it mean nothing.
package struct EntityTag {
  /// The part between the quotes.
  package let opaque: ArraySlice<UInt8>
  private let isWeak: Bool

  /// Nil for a text that is not one tag.
  package init?(_ text: String) {
    var scanner = FieldScanner(text)
    guard let tag = scanner.takeEntityTag(), scanner.isAtEnd else { return nil }
    (opaque, isWeak) = tag
  }

  /// Whether a list has this tag, weak or not; nil for a text that is no list of tags.
  package func isIn(_ list: String) -> Bool? { isIn(list) { _ in true } }

  /// Whether a list has this tag, and both stand for the very same bytes; nil for a text that is no list of tags.
  package func isStrongly(in list: String) -> Bool? { isIn(list) { !isWeak && !$0 } }

  private func isIn(_ list: String, _ counts: (_ isOtherWeak: Bool) -> Bool) -> Bool? {
    var scanner = FieldScanner(list)
    var isFound = false
    while scanner.skipToMember() {
      guard let other = scanner.takeEntityTag(), scanner.isAtEndOfMember else { return nil }
      isFound = isFound || counts(other.isWeak) && opaque == other.opaque
    }
    return isFound
  }
}
