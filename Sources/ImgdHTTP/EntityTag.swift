/// Looks for an entity tag in the lists of If-None-Match and If-Match (RFC 9110, 8.8.3, 13.1).
///
/// What is between the quotes is compared byte for byte. There are no escapes in it, so that `"\"` is a whole tag,
/// and commas mean nothing.
package struct EntityTag {
  private let bytes: [UInt8]
  private let opaque: Range<Int>
  private let isWeak: Bool

  /// Nil for a text that is not one tag.
  package init?(_ text: String) {
    bytes = Array(text.utf8)
    var scanner = EntityTagScanner(bytes)
    scanner.skipBlanks()
    guard let tag = scanner.takeTag() else { return nil }
    scanner.skipBlanks()
    guard scanner.isAtEnd else { return nil }
    (opaque, isWeak) = (tag.opaque, tag.isWeak)
  }

  /// Whether a list has this tag, weak or not; nil for a text that is no list of tags.
  package func isIn(_ list: String) -> Bool? { isIn(list) { _ in true } }

  /// Whether a list has this tag, and both stand for the very same bytes; nil for a text that is no list of tags.
  package func isStrongly(in list: String) -> Bool? { isIn(list) { !isWeak && !$0 } }

  private func isIn(_ list: String, _ counts: (_ isOtherWeak: Bool) -> Bool) -> Bool? {
    let listed = Array(list.utf8)
    var scanner = EntityTagScanner(listed)
    var isFound = false
    while scanner.skipToMember() {
      guard let other = scanner.takeTag(), scanner.isAtMemberEnd else { return nil }
      isFound =
        isFound || counts(other.isWeak) && bytes[opaque].elementsEqual(listed[other.opaque])
    }
    return isFound
  }
}

/// Walks over a list of entity tags.
private struct EntityTagScanner {
  private let bytes: [UInt8]
  private var index = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { index == bytes.count }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private var isAtBlank: Bool { next == 0x20 || next == 0x09 }

  mutating func skipBlanks() {
    while isAtBlank { index += 1 }
  }

  /// Goes to the next member over commas and blanks; false at the end.
  mutating func skipToMember() -> Bool {
    while isAtBlank || next == UInt8(ascii: ",") { index += 1 }
    return !isAtEnd
  }

  /// Whether a member ends here, blanks behind it aside.
  var isAtMemberEnd: Bool {
    mutating get {
      skipBlanks()
      return isAtEnd || next == UInt8(ascii: ",")
    }
  }

  /// The place of what is between the quotes of a tag, weak or not.
  mutating func takeTag() -> (opaque: Range<Int>, isWeak: Bool)? {
    let isWeak = next == UInt8(ascii: "W")
    if isWeak {
      index += 1
      guard next == UInt8(ascii: "/") else { return nil }
      index += 1
    }
    guard next == UInt8(ascii: "\"") else { return nil }
    index += 1
    let start = index
    while let byte = next, Self.isOpaque(byte) { index += 1 }
    guard next == UInt8(ascii: "\"") else { return nil }
    index += 1
    return (start..<index - 1, isWeak)
  }

  private static func isOpaque(_ byte: UInt8) -> Bool {
    byte == 0x21 || 0x23...0x7E ~= byte || byte >= 0x80
  }
}
