/// Chunks up to the pixels; animation and camera data come before them.
enum PNG {
  private static let firstChunk = 8
  /// Length, name and checksum around the content of a chunk.
  private static let chunkOverhead = 12

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let size = size(at: 0, in: bytes) else { throw NotAPicture(reason: "PNG without IHDR") }
    var frames: Int?
    var orientation = 1
    // Grey and colour with alpha are the types 4 and 6.
    var isOpaque = bytes.byte(at: firstChunk + 17).map { $0 & 4 == 0 } ?? false
    var offset = firstChunk
    for _ in 0..<PictureProbe.mostSteps {
      guard let length = bytes.big32(at: offset), let name = bytes.fourCC(at: offset + 4), name != "IEND" else { break }
      let content = offset + 8
      switch name {
      case "IDAT":
        return PictureMeasures(
          format: .png, width: size.width, height: size.height, frames: frames ?? 1, orientation: orientation,
          isOpaque: isOpaque)
      case "tRNS": isOpaque = false
      // Without a correct announcement it is what a viewer shows, the still picture of its pixels.
      case "acTL" where length == 8 && frames == nil:
        frames = bytes.big32(at: content).flatMap { (1...Int(Int32.max)).contains($0) ? $0 : nil }
      case "eXIf" where length <= bytes.count - content:
        let payload = bytes.extracting(content..<(content + length))
        orientation = Exif.orientation(in: payload, isNamed: false) ?? orientation
      default: break
      }
      offset += length + chunkOverhead
    }
    throw NotAPicture(reason: "PNG that ends before its pixels")
  }

  static func size(at start: Int, in bytes: Span<UInt8>) -> (width: Int, height: Int)? {
    let chunk = start + firstChunk
    guard bytes.big32(at: start) == 0x8950_4E47, bytes.big32(at: start + 4) == 0x0D0A_1A0A,
      bytes.big32(at: chunk) == 13, bytes.fourCC(at: chunk + 4) == "IHDR", let width = bytes.big32(at: chunk + 8),
      let height = bytes.big32(at: chunk + 12)
    else { return nil }
    return (width, height)
  }
}
