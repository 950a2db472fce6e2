/// Blocks of sub-blocks; counting the frames needs a walk over all of them.
enum GIF {
  private static let screenEnd = 13

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    let version = bytes.big16(at: 4)
    guard version == 0x3761 || version == 0x3961 else {
      throw NotAPicture(reason: "GIF of a version that is neither 87a nor 89a")
    }
    guard let width = bytes.little16(at: 6), let height = bytes.little16(at: 8), let flags = bytes.byte(at: 10),
      bytes.count >= screenEnd
    else { throw NotAPicture(reason: "GIF that ends inside its header") }
    var walk = BlockWalk(offset: screenEnd + colourTableSize(flags))
    walk.walkBlocks(of: bytes)
    guard walk.frames > 0 || !walk.isComplete else { throw NotAPicture(reason: "GIF without a frame") }
    // A first frame that reaches beyond the screen makes it larger, as in viewers.
    return PictureMeasures(
      format: .gif, width: max(width, walk.right), height: max(height, walk.bottom), frames: max(walk.frames, 1),
      isOpaque: !walk.hasTransparency)
  }

  /// The size in bytes of the colour table that the flags of a screen or an image announce.
  fileprivate static func colourTableSize(_ flags: Int) -> Int { flags & 0x80 == 0 ? 0 : 3 << ((flags & 7) + 1) }
}

private struct BlockWalk {
  private static let extensionBlock = 0x21
  private static let graphicControl = 0xF9
  private static let imageBlock = 0x2C
  private static let trailer = 0x3B

  var offset: Int
  var frames = 0
  /// Where the first frame ends.
  var right = 0
  var bottom = 0
  var hasTransparency = false
  /// Whether the trailer was found, so nothing is missing.
  var isComplete = false
  var stepsLeft = PictureProbe.mostSteps

  /// Walks until the trailer, the end, the limit, or a byte that begins no block.
  mutating func walkBlocks(of bytes: Span<UInt8>) {
    while let kind = bytes.byte(at: offset) {
      switch kind {
      case Self.extensionBlock:
        if bytes.byte(at: offset + 1) == Self.graphicControl, let flags = bytes.byte(at: offset + 3), flags & 1 == 1 {
          hasTransparency = true
        }
        offset += 2
      case Self.imageBlock:
        guard let flags = bytes.byte(at: offset + 9) else { return }
        if frames == 0, let left = bytes.little16(at: offset + 1), let top = bytes.little16(at: offset + 3),
          let width = bytes.little16(at: offset + 5), let height = bytes.little16(at: offset + 7)
        {
          (right, bottom) = (left + width, top + height)
        }
        frames += 1
        offset += 11 + GIF.colourTableSize(flags)
      default:
        isComplete = kind == Self.trailer
        return
      }
      guard skipSubBlocks(in: bytes) else { return }
    }
  }

  /// Returns false when the sub-blocks have no end, or none within the limit.
  private mutating func skipSubBlocks(in bytes: Span<UInt8>) -> Bool {
    while stepsLeft > 0, let length = bytes.byte(at: offset) {
      stepsLeft -= 1
      offset += length + 1
      if length == 0 { return true }
    }
    return false
  }
}
