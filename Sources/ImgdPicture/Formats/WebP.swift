/// A RIFF of chunks: a bare lossy or lossless picture, or a canvas with frames and metadata.
enum WebP {
  private static let firstChunk = 12
  private static let chunkHeader = 8
  private static let firstPayload = firstChunk + chunkHeader

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let kind = bytes.fourCC(at: 8), let size = bytes.little32(at: 4) else {
      throw NotAPicture(reason: "RIFF that ends inside its header")
    }
    guard kind == "WEBP" else { throw NotAPicture(reason: "RIFF of kind '\(kind.text)', not WebP") }
    guard size <= bytes.count - chunkHeader else {
      throw NotAPicture(reason: "WebP cut off: \(bytes.count) of \(size + chunkHeader) bytes")
    }
    let whole = bytes.extracting(0..<(size + chunkHeader))
    guard let picture = picture(in: whole) else { throw NotAPicture(reason: "WebP whose first chunk states no size") }
    return picture
  }

  private static func picture(in bytes: Span<UInt8>) -> PictureMeasures? {
    switch bytes.fourCC(at: firstChunk) {
    case "VP8 "?: lossy(in: bytes)
    case "VP8L"?: lossless(in: bytes)
    case "VP8X"?: canvas(in: bytes)
    default: nil
    }
  }

  /// The start code and two sides of 14 bits after the frame tag.
  private static func lossy(in bytes: Span<UInt8>) -> PictureMeasures? {
    guard bytes.little24(at: firstPayload + 3) == 0x2A_019D, let width = bytes.little16(at: firstPayload + 6),
      let height = bytes.little16(at: firstPayload + 8)
    else { return nil }
    return PictureMeasures(format: .webp, width: width & 0x3FFF, height: height & 0x3FFF, isOpaque: true)
  }

  /// Two sides of 14 bits, each stored as one less, a bit for alpha, and in the top three bits a version that must be 0.
  private static func lossless(in bytes: Span<UInt8>) -> PictureMeasures? {
    guard bytes.byte(at: firstPayload) == 0x2F, let bits = bytes.little32(at: firstPayload + 1), bits >> 29 == 0 else {
      return nil
    }
    return PictureMeasures(
      format: .webp, width: (bits & 0x3FFF) + 1, height: (bits >> 14 & 0x3FFF) + 1, isOpaque: bits >> 28 & 1 == 0)
  }

  private static func canvas(in bytes: Span<UInt8>) -> PictureMeasures? {
    guard let flags = bytes.byte(at: firstPayload), let width = bytes.little24(at: firstPayload + 4),
      let height = bytes.little24(at: firstPayload + 7)
    else { return nil }
    let isAnimated = flags & 0x02 != 0
    let hasExif = flags & 0x08 != 0
    let extras = isAnimated || hasExif ? extras(in: bytes) : (frames: 0, orientation: 1)
    return PictureMeasures(
      format: .webp, width: width + 1, height: height + 1, frames: isAnimated ? max(extras.frames, 1) : 1,
      orientation: hasExif ? extras.orientation : 1, isOpaque: flags & 0x10 == 0)
  }

  private static func extras(in bytes: Span<UInt8>) -> (frames: Int, orientation: Int) {
    var extras = (frames: 0, orientation: 1)
    var offset = firstChunk
    for _ in 0..<PictureProbe.mostSteps {
      guard let name = bytes.fourCC(at: offset), let length = bytes.little32(at: offset + 4) else { break }
      let payload = offset + chunkHeader
      if name == "ANMF" { extras.frames += 1 }
      if name == "EXIF", length <= bytes.count - payload {
        let exif = bytes.extracting(payload..<(payload + length))
        extras.orientation = Exif.orientation(in: exif, isNamed: false) ?? 1
      }
      // Chunks begin at even offsets.
      offset = payload + length + length % 2
    }
    return extras
  }
}
