// A picture is recognised by its own first bytes, never by the media type or the file name, and
// measured by walking the structure of its format around the pixels: segments, chunks, blocks, boxes
// or directories. Nothing is decompressed and nothing is copied.
//
// The bytes are untrusted. So every number is read through `ByteReading.swift`, where an offset outside gives nil;
// every walk moves forward and is limited by `mostSteps`, or remembers its places; no recursion depends on the bytes.
// For any input the result is a picture or a reason, in time that is linear in the input with a small constant.
//
// Parsing is as lenient as viewers are: a file with a whole header is a picture even when its pixels
// break off, which is left to the decoder. It is strict where a container states its own length (WebP,
// the chunks of PNG before the pixels), and about sizes: a picture needs a width and a height.

/// Recognises and measures pictures without decoding a pixel.
package enum PictureProbe {
  /// The most elements that one walk counts: a GIF of 250 MB has about this many blocks.
  static let mostSteps = 1_000_000
  private static let longestSide = Int(Int32.max)

  /// Reads the format, size, frames and orientation from the structure of a whole file.
  ///
  /// - Throws: `NotAPicture` with a guess about the content, or with the fault.
  package static func recognise(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let measure = reader(for: bytes) else { throw NotAPicture(reason: ContentSniffer.description(of: bytes)) }
    let picture = try measure(bytes)
    for (side, length) in [("width", picture.width), ("height", picture.height)] {
      guard (1...longestSide).contains(length) else {
        throw NotAPicture(reason: "\(picture.format.name) whose \(side) is \(length)")
      }
    }
    return picture
  }

  private typealias Reader = (Span<UInt8>) throws(NotAPicture) -> PictureMeasures

  private static func reader(for bytes: Span<UInt8>) -> Reader? {
    guard let start = bytes.big32(at: 0) else { return nil }
    return switch (start, bytes.big32(at: 4)) {
    case (0xFFD8_FF00...0xFFD8_FFFF, _): JPEG.measure
    case (0x8950_4E47, 0x0D0A_1A0A): PNG.measure
    case (0x4749_4638, _): GIF.measure  // GIF8
    case (0x5249_4646, _): WebP.measure  // RIFF
    case (0x4949_2A00, _), (0x4D4D_002A, _), (0x4949_2B00, _), (0x4D4D_002B, _): TIFF.measure
    case (0x424D_0000...0x424D_FFFF, _): BMP.measure  // BM
    case (0x0000_0100, _), (0x0000_0200, _): ICO.measure
    case (0xFF0A_0000...0xFF0A_FFFF, _): JPEGXL.measureCodestream
    case (12, 0x4A58_4C20): JPEGXL.measureContainer  // "JXL "
    case (0xFF4F_FF51, _): JPEG2000.measureCodestream
    case (12, 0x6A50_2020): JPEG2000.measureContainer  // "jP  "
    case (_, 0x6674_7970): HEIF.measure  // ftyp
    default: SVG.isDrawing(bytes) ? (SVG.measure as Reader) : nil
    }
  }
}

/// The format and measures of a picture, from the structure of its file.
package struct PictureMeasures: Sendable, Equatable {
  package let format: PictureFormat
  /// Pixels in a stored row: `orientation` is not applied, so a phone's upright photo may be wide.
  /// Padding that a HEIC declares as such is not counted.
  package let width: Int
  /// Stored rows, again before `orientation`.
  package let height: Int
  /// Pictures in sequence: 1 for a still, the pages of a TIFF, and 1 for an icon, whose entries are
  /// alternatives. An animated JPEG XL counts as 1, because its frames could only be counted by decoding.
  package var frames = 1
  /// EXIF's orientation from 1 to 8; 1, upright, when there is none.
  package var orientation = 1
  /// Whether the file says that nothing can be seen through the picture, where its format has alpha.
  package var isOpaque = false
}

/// The bytes are no picture, or one that breaks off before its size.
package struct NotAPicture: Error, Sendable, Equatable {
  /// A phrase for people that completes "not an image: …", such as "an HTML page".
  package let reason: String
}

/// Guesses from the first bytes of a body what it is, if it is not a picture.
enum ContentSniffer {
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
    // In lower case, without leading blanks or a byte order mark.
    var letters: [UInt8] = []
    for index in 0..<min(bytes.count, textLimit) {
      let byte = bytes[index]
      let isBlank = byte == 0x20 || (0x09...0x0D).contains(byte)
      guard byte >= 0x20 || isBlank, byte != 0x7F else { return nil }
      if !letters.isEmpty || !isBlank { letters.append(byte) }
    }
    if letters.starts(with: [0xEF, 0xBB, 0xBF]) { letters.removeFirst(3) }
    let start = String(decoding: letters, as: UTF8.self).lowercased()
    // The last character may be cut by the limit.
    guard !start.unicodeScalars.dropLast().contains("\u{FFFD}") else { return nil }
    let markup = [
      ("<!doctype html", "an HTML page"), ("<html", "an HTML page"), ("{", "JSON"), ("[", "JSON"),
    ]
    if let known = markup.first(where: { start.hasPrefix($0.0) }) { return known.1 }
    guard start.hasPrefix("<?xml") || start.hasPrefix("<!--") else { return "text" }
    return start.split(separator: "<").contains { $0.hasPrefix("html") } ? "an HTML page" : "XML"
  }
}
