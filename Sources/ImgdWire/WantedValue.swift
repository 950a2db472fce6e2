/// The values that a field takes, as an error message names them.
enum WantedValue {
  case string(ClosedRange<Int>)
  case flag
  case integer(ClosedRange<Int>)
  case oneOf([String])
  case receipt
  case id
  case text(String)

  var description: String {
    switch self {
    case .string(let lengths): "a string of \(lengths.lowerBound) to \(lengths.upperBound) bytes"
    case .flag: "true or false"
    case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .oneOf(let names): Self.list(names)
    case .receipt: "a UUID like \"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11\""
    case .id: "a whole number of 64 bits or a string of at most \(WireLimits.id) bytes"
    case .text(let text): text
    }
  }

  private static func list(_ names: [String]) -> String {
    "one of " + names.map { "\"\($0)\"" }.joined(separator: ", ")
  }
}

/// The beginning of a client's text, short enough for a message.
enum Excerpt {
  private static let longest = 80

  /// At most 80 bytes of well-formed text, cut between characters.
  static func of(_ text: Span<UInt8>) -> String {
    guard text.count > longest else { return string(text) }
    var end = longest
    while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
    return string(text.extracting(0..<end)) + "…"
  }

  static func of(_ text: String) -> String {
    of(Array(text.utf8).span)
  }

  private static func string(_ text: Span<UInt8>) -> String {
    // The buffer is only read while the span is borrowed.
    unsafe text.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }
}
