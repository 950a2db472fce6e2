/// A codestream that begins with its size, bare or in boxes, one of which repeats the size.
enum JPEG2000 {
  /// The size is that of the reference grid, less the offset of the picture in it.
  static func measureCodestream(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let right = bytes.big32(at: 8), let bottom = bytes.big32(at: 12), let left = bytes.big32(at: 16),
      let top = bytes.big32(at: 20)
    else { throw NotAPicture(reason: "JPEG 2000 that ends inside its header") }
    return PictureMeasures(format: .jp2, width: right - left, height: bottom - top)
  }

  static func measureContainer(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let header = BoxWalk.first(at: ["jp2h", "ihdr"], in: 0..<bytes.count, of: bytes),
      let height = bytes.big32(at: header.lowerBound), let width = bytes.big32(at: header.lowerBound + 4)
    else { throw NotAPicture(reason: "JPEG 2000 without an image header") }
    return PictureMeasures(format: .jp2, width: width, height: height)
  }
}
