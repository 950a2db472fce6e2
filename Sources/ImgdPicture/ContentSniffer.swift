/// Guesses from the first bytes of a body what it is, if it is not a picture.
enum ContentSniffer {
  /// How many bytes of a text are looked at.
  private static let textLimit = 256

  static func description(of bytes: Span<UInt8>) -> String {
    guard !bytes.isEmpty else { return "empty" }
    return binary(bytes) ?? text(bytes) ?? "\(bytes.count) bytes of no known picture format"
  }

  private static func binary(_ bytes: Span<UInt8>) -> String? {
    guard let start = bytes.big32(at: 0) else { return nil }
    return switch start {
    case 0x2550_4446: "a PDF document"
    case 0x1F8B_0000...0x1F8B_FFFF: "gzip data"
    case 0x504B_0304: "a ZIP archive"
    case 0x1A45_DFA3: "a Matroska or WebM video"
    case 0x3842_5053: "a Photoshop document"
    case 0x4F67_6753: "an Ogg file"
    case 0x7F45_4C46: "an ELF program"
    default: nil
    }
  }

  private static func text(_ bytes: Span<UInt8>) -> String? {
    let start = Start(bytes, limit: textLimit)
    guard start.isText else { return nil }
    let markup = [
      ("<!doctype html", "an HTML page"), ("<html", "an HTML page"), ("<svg", "an SVG drawing"), ("{", "JSON"),
      ("[", "JSON"),
    ]
    if let known = markup.first(where: { start.text.hasPrefix($0.0) }) { return known.1 }
    guard start.text.hasPrefix("<?xml") || start.text.hasPrefix("<!--") else { return "text" }
    let tags = start.text.split(separator: "<")
    if tags.contains(where: { $0.hasPrefix("svg") }) { return "an SVG drawing" }
    return tags.contains { $0.hasPrefix("html") } ? "an HTML page" : "XML"
  }

  /// The first bytes in lower case, without leading blanks or a byte order mark.
  private struct Start {
    let text: String
    /// Whether it is UTF-8 without control characters.
    let isText: Bool

    init(_ bytes: Span<UInt8>, limit: Int) {
      var letters: [UInt8] = []
      var isPlain = true
      for index in 0..<Swift.min(bytes.count, limit) {
        let byte = bytes[index]
        let isBlank = byte == 0x20 || (0x09...0x0D).contains(byte)
        isPlain = isPlain && (byte >= 0x20 || isBlank) && byte != 0x7F
        if !letters.isEmpty || !isBlank { letters.append(byte) }
      }
      if letters.starts(with: [0xEF, 0xBB, 0xBF]) { letters.removeFirst(3) }
      text = String(decoding: letters, as: UTF8.self).lowercased()
      // The last character may be cut by the limit.
      isText = isPlain && !text.unicodeScalars.dropLast().contains("\u{FFFD}")
    }
  }
}
