// A picture is recognised by its own first bytes, never by the media type or the file name, and
// measured by walking the structure of its format around the pixels: segments, chunks, blocks, boxes
// or directories. Nothing is decompressed and nothing is copied.
//
// The bytes are untrusted. So every number is read through `ByteReading.swift`, where an offset
// outside gives nil; every walk moves forward and is limited by `mostSteps`, or remembers its places;
// no recursion depends on the bytes. For any input the result is a picture or a reason, in time that
// is linear in the input with a small constant.
//
// Parsing is as lenient as viewers are: a file with a whole header is a picture even when its pixels
// break off, which is left to the decoder. It is strict where a container states its own length (WebP,
// the chunks of PNG before the pixels), and about sizes: a picture needs a width and a height.

/// Recognises and measures pictures without decoding a pixel.
package enum PictureProbe {
  /// The most elements that one walk visits; further ones are not counted. A GIF of 250 MB has about
  /// this many blocks.
  static let mostSteps = 1_000_000

  /// Reads the format, size, frames and orientation from the structure of a whole file.
  ///
  /// - Throws: `NotAPicture` with a guess about the content, or with the fault.
  package static func recognise(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let measure = reader(for: bytes) else { throw NotAPicture(reason: ContentSniffer.description(of: bytes)) }
    return try measure(bytes).checked()
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
    default: nil
    }
  }
}

extension PictureMeasures {
  /// The largest side that is accepted.
  private static let longestSide = Int(Int32.max)

  fileprivate func checked() throws(NotAPicture) -> PictureMeasures {
    for (side, length) in [("width", width), ("height", height)] {
      guard (1...Self.longestSide).contains(length) else {
        throw NotAPicture(reason: "\(format.name) whose \(side) is \(length)")
      }
    }
    return self
  }
}
