/// Chunks up to the pixels; animation and camera data come before them.
enum PNG {
  /// The first chunk follows the signature.
  private static let firstChunk = 8
  /// Length, name and checksum around the content of a chunk.
  private static let chunkOverhead = 12

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let size = size(at: 0, in: bytes) else { throw NotAPicture(reason: "PNG without IHDR") }
    var extras = Extras()
    var offset = firstChunk
    for _ in 0..<PictureProbe.mostSteps {
      guard let length = bytes.big32(at: offset), let name = bytes.fourCC(at: offset + 4), name != "IEND" else { break }
      if name == "IDAT" {
        return PictureMeasures(
          format: .png, width: size.width, height: size.height, frames: extras.frames, orientation: extras.orientation)
      }
      extras.note(name, at: offset + 8, length: length, in: bytes)
      offset += length + chunkOverhead
    }
    throw NotAPicture(reason: "PNG that ends before its pixels")
  }

  /// The size of a PNG that begins at `start`; nil when there is none.
  static func size(at start: Int, in bytes: Span<UInt8>) -> (width: Int, height: Int)? {
    let chunk = start + firstChunk
    guard bytes.big32(at: start) == 0x8950_4E47, bytes.big32(at: start + 4) == 0x0D0A_1A0A,
      bytes.big32(at: chunk) == 13, bytes.fourCC(at: chunk + 4) == "IHDR", let width = bytes.big32(at: chunk + 8),
      let height = bytes.big32(at: chunk + 12)
    else { return nil }
    return (width, height)
  }

  /// The data of the chunks between header and pixels.
  ///
  /// A PNG is an animation only if it announces one as the format requires: otherwise it is what a
  /// viewer shows, the still picture of its pixels.
  private struct Extras {
    var frames: Int { announcedFrames ?? 1 }
    var orientation = 1
    private var announcedFrames: Int?
    private static let controlLength = 8

    mutating func note(_ name: FourCC, at offset: Int, length: Int, in bytes: Span<UInt8>) {
      switch name {
      case "acTL" where length == Self.controlLength && announcedFrames == nil:
        announcedFrames = bytes.big32(at: offset).flatMap { (1...Int(Int32.max)).contains($0) ? $0 : nil }
      case "eXIf" where length <= bytes.count - offset:
        let payload = bytes.extracting(offset..<(offset + length))
        orientation = Exif.orientation(in: payload, isNamed: false) ?? orientation
      default: break
      }
    }
  }
}
