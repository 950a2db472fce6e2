internal import ImgdText

/// The beginning of a client's text, short enough for a message and without the password of a URL.
package enum Excerpt {
  private static let longest = 80

  /// At most 80 bytes of well-formed text, cut between characters.
  static func of(_ text: Span<UInt8>) -> String {
    // The buffer is only read while the span is borrowed.
    of(unsafe text.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) })
  }

  /// At most 80 bytes of a text, cut between characters.
  package static func of(_ text: String) -> String {
    let shown = withoutUserInfo(text)
    guard shown.utf8.count > longest else { return shown }
    let end = shown.utf8.index(shown.startIndex, offsetBy: longest)
    return shown[..<shown.unicodeScalars.index(before: shown.unicodeScalars.index(after: end))] + "…"
  }
}
