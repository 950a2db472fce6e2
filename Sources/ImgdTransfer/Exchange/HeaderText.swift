/// The bytes of a name or a value in a head, without the blanks around them.
///
/// HTTP does not say what bytes beyond ASCII mean. Most are UTF-8; those that are not are read as
/// Latin-1, in which every byte is a character, so that none is lost.
struct HeaderText {
  private let bytes: [UInt8]

  init(_ line: Span<UInt8>) {
    var start = 0
    var end = line.count
    while start < end, Self.isBlank(line[start]) { start += 1 }
    while end > start, Self.isBlank(line[end - 1]) { end -= 1 }
    bytes = unsafe line.extracting(start..<end).withUnsafeBufferPointer { unsafe Array($0) }
  }

  var text: String {
    if let valid = try? UTF8Span(validating: bytes.span) { return String(copying: valid) }
    return String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
  }

  /// The text of a URL, with bytes beyond ASCII percent-encoded, as they go over the wire.
  var reference: String {
    bytes.reduce(into: "") { text, byte in
      text += byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
