// A picture is recognised by its own first bytes, never by what a server or a file name claims,
// and measured by walking the structure that its format lays around the pixels: segments, chunks,
// blocks, boxes or directories. Nothing is decompressed and nothing is copied.
//
// The bytes come from strangers. So every number is read through `Bytes.swift`, where what lies
// outside is nil; every walk moves forward and spends from `mostSteps`, or remembers where it was;
// nothing recurses on what the bytes say. Whatever arrives, the answer is a picture or a reason,
// in time that is linear in the input with a small constant.
//
// The reading is lenient where viewers are: a file whose header is whole is a picture even when
// its pixels break off, because the decoder judges pixels. It is strict where a container states
// its own length (WebP, the chunks of PNG before the pixels), and about sizes: a picture without
// width or height is none.

/// Tells pictures from everything else, and measures them, without decoding a pixel.
package enum PictureProbe {
  /// Elements that one walk visits at most; what lies beyond is not counted (a guess: a GIF of
  /// 250 MB has as many blocks).
  static let mostSteps = 1_000_000

  /// Reads the format, size, frames and orientation off the structure of a whole file.
  ///
  /// - Throws: `NotAPicture` with what the bytes look like instead, or what is wrong with them.
  package static func recognise(_ bytes: Span<UInt8>) throws(NotAPicture) -> Picture {
    guard let measure = reader(for: bytes) else {
      throw NotAPicture(reason: Impostor.description(of: bytes))
    }
    return try measure(bytes).checked()
  }

  private typealias Reader = (Span<UInt8>) throws(NotAPicture) -> Picture

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

extension Picture {
  /// The largest side that any of the formats can state without a sign.
  private static let longestSide = Int(Int32.max)

  fileprivate func checked() throws(NotAPicture) -> Picture {
    for (side, length) in [("width", width), ("height", height)] {
      guard (1...Self.longestSide).contains(length) else {
        throw NotAPicture(reason: "\(format.name) whose \(side) is \(length)")
      }
    }
    return self
  }
}
