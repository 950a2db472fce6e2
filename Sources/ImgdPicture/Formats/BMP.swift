/// Bitmaps of Windows and OS/2, with several headers that differ in length.
enum BMP {
  private static let information = 14

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let size = bytes.little32(at: information) else {
      throw NotAPicture(reason: "BMP that ends inside its header")
    }
    let known: (width: Int, height: Int)?
    switch size {
    case 12: known = coreSides(in: bytes)
    case 16, 40, 52, 56, 64, 108, 124: known = sides(in: bytes)
    default: throw NotAPicture(reason: "BMP with an unknown header of \(size) bytes")
    }
    guard let known else { throw NotAPicture(reason: "BMP that ends inside its header") }
    return PictureMeasures(format: .bmp, width: known.width, height: known.height)
  }

  private static func coreSides(in bytes: Span<UInt8>) -> (width: Int, height: Int)? {
    guard let width = bytes.little16(at: information + 4), let height = bytes.little16(at: information + 6) else {
      return nil
    }
    return (width, height)
  }

  /// Signed sides; a negative height means that the top row comes first.
  private static func sides(in bytes: Span<UInt8>) -> (width: Int, height: Int)? {
    guard let width = bytes.little32(at: information + 4), let height = bytes.little32(at: information + 8) else {
      return nil
    }
    return (signed(width), abs(signed(height)))
  }

  private static func signed(_ number: Int) -> Int { Int(Int32(truncatingIfNeeded: number)) }
}
