// Some characters are not shown but do something: on a terminal U+009B begins a command, U+202E turns
// the rest of a line around, and others divide lines or hide in a name. JSON allows all of them in a
// string. They are escaped all the same, because lines are read by people too, and text of clients and
// origins is in them: escapes cost a program nothing, and a terminal shows them as they are.

/// Characters beyond ASCII that control or format what is shown, and are not shown themselves.
enum HiddenCharacters {
  /// C1 controls, direction marks, line separators, and characters that take no room.
  static func contains(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x80...0x9F, 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB,
      0xE0000...0xE007F:
      true
    default: false
    }
  }

  /// The length of such a character that begins at `index` of well-formed UTF-8; 0 for any other byte.
  @inline(__always) static func length(at index: Int, in text: Span<UInt8>) -> Int {
    // The bytes with which those above begin, which decide most cases.
    switch text[index] {
    case 0xC2, 0xD8: length(2, at: index, in: text)
    case 0xE1, 0xE2, 0xEF: length(3, at: index, in: text)
    case 0xF3: length(4, at: index, in: text)
    default: 0
    }
  }

  private static func length(_ length: Int, at index: Int, in text: Span<UInt8>) -> Int {
    contains(scalar(text.extracting(index..<index + length))) ? length : 0
  }

  /// The character that two to four bytes of well-formed UTF-8 encode.
  static func scalar(_ bytes: Span<UInt8>) -> UInt32 {
    var scalar = UInt32(bytes[0]) & (0x7F >> UInt32(bytes.count))
    for index in 1..<bytes.count { scalar = scalar << 6 | UInt32(bytes[index] & 0x3F) }
    return scalar
  }
}
