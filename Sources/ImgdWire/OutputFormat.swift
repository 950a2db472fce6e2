/// An encoding in which a picture is wanted.
package enum OutputFormat: String, CaseIterable, Sendable {
  case original, jpeg, png, webp, avif, gif, tiff, jxl
  /// Formats that are never written: in a list they stand for pictures that come in them.
  case heic, bmp, jp2, svg

  /// Those that may be asked for alone.
  package static let alone = allCases.filter { ![.heic, .bmp, .jp2, .svg].contains($0) }

  /// The encoding with this name; `jpg` is one for JPEG.
  package init?(named word: String) { self.init(rawValue: word == "jpg" ? "jpeg" : word) }
}

/// The frames of an animation that another form of it keeps.
package enum FrameChoice: String, CaseIterable, Sendable {
  /// As many as the encoding can have.
  case auto
  /// All of them, or the form is refused.
  case all
  case first
}

/// How the four bytes of a pixel lie in memory.
package enum PixelLayout: String, CaseIterable, Sendable {
  /// Red, green, blue and alpha, which is not multiplied in.
  case rgba8
  /// Blue, green, red and alpha, which is multiplied in: words of a little-endian machine, as Cairo and Wayland have them.
  case bgra8Premultiplied = "bgra8-premultiplied"
}

enum FormatParser {
  static func layout(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> PixelLayout {
    guard fields.present.contains(.layout) else { return .rgba8 }
    let token = fields.token(.layout)
    guard token.kind == .string, let layout = PixelLayout(rawValue: token.string(in: line)) else {
      throw fields.wrong(.layout, .oneOf(PixelLayout.allCases.map { $0.rawValue }), in: line)
    }
    return layout
  }

  /// One name, or a list of different ones.
  static func formats(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> [OutputFormat] {
    guard fields.present.contains(.format) else { return [.original] }
    let token = fields.token(.format)
    if token.kind == .string {
      guard let format = OutputFormat(named: token.string(in: line)), OutputFormat.alone.contains(format) else {
        throw fields.wrong(.format, .oneOf(OutputFormat.alone.map { $0.rawValue }), in: line)
      }
      return [format]
    }
    guard let items = fields.container(.format)?.array, 1...OutputFormat.allCases.count ~= items.count else {
      throw fields.wrong(
        .format, .text("a name such as \"webp\", or a list of 1 to \(OutputFormat.allCases.count) names"), in: line)
    }
    var formats: [OutputFormat] = []
    for item in items {
      guard let format = item.string.flatMap(OutputFormat.init(named:)) else {
        let wanted = WantedValue.oneOf(OutputFormat.allCases.map { $0.rawValue })
        throw .field(.format, wanted.complaint(about: "format[\(formats.count)]", sent: SentValue(item)))
      }
      guard !formats.contains(format) else {
        throw .field(.format, "\"format\" has \"\(format.rawValue)\" twice; it takes each name once")
      }
      formats.append(format)
    }
    return formats
  }
}

extension JSONWriter {
  /// Writes encodings as `FormatParser` reads them; nothing for the usual one.
  mutating func formats(_ formats: [OutputFormat]) {
    if let format = formats.first, formats.count == 1, OutputFormat.alone.contains(format) {
      word(.format, format, usual: .original)
    } else {
      texts(.format, formats.map { $0.rawValue })
    }
  }
}
