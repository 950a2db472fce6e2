import CVips
import ImgdDecode

/// Cuts the same part out of all frames of an animation.
enum AnimationCut {
  /// Cuts out the part that a crop keeps, which the first frame decides.
  static func cut(_ column: VipsPicture, to size: Size, crop: Rendition.Box.Crop) throws(DecodeFailure) -> VipsPicture {
    let frame = Size(width: column.width, height: column.frameHeight)
    guard size != frame else { return column }
    let whole = try column.computed()
    let centre = Corner(left: (frame.width - size.width) / 2, top: (frame.height - size.height) / 2)
    let corner = try crop == .attention ? whole.attentive(size) : centre
    return try cut(whole, to: size, at: corner)
  }

  static func cut(_ column: VipsPicture, to size: Size, at corner: Corner) throws(DecodeFailure) -> VipsPicture {
    let height = column.frameHeight
    guard size != Size(width: column.width, height: height) else { return column }
    // The frames are not read one row after the other.
    let whole = try column.computed()
    var frames: [VipsPicture] = []
    for top in stride(from: 0, to: whole.height, by: height) {
      frames.append(try whole.part(corner.left, top + corner.top, size))
    }
    let joined = try join(frames)
    joined.set("page-height", size.height)
    return joined
  }

  private static func join(_ frames: [VipsPicture]) throws(DecodeFailure) -> VipsPicture {
    var images: [UnsafeMutablePointer<VipsImage>?] = unsafe frames.map { unsafe $0.image }
    let joined = unsafe cvips_column(&images, CInt(images.count))
    withExtendedLifetime(frames) {}
    return try unsafe VipsPicture(joined)
  }
}

extension VipsPicture {
  func part(_ left: Int, _ top: Int, _ size: Size) throws(DecodeFailure) -> VipsPicture {
    try unsafe VipsPicture(cvips_part(image, CInt(left), CInt(top), CInt(size.width), CInt(size.height)))
  }

  /// Finds, in the first frame, the part of this size that draws the eye; all pixels must have been computed.
  func attentive(_ size: Size) throws(DecodeFailure) -> Corner {
    let frame = try part(0, 0, Size(width: width, height: frameHeight))
    let (left, top) = try frame.cut(size).place
    return Corner(left: min(max(0, left), width - size.width), top: min(max(0, top), frameHeight - size.height))
  }

  private func cut(_ size: Size) throws(DecodeFailure) -> VipsPicture {
    try unsafe VipsPicture(cvips_cut(image, CInt(size.width), CInt(size.height), VIPS_INTERESTING_ATTENTION))
  }

  /// Where the part was in the whole: the library notes the origin of the whole as seen from the part.
  private var place: (left: Int, top: Int) { unsafe (-Int(image.pointee.Xoffset), -Int(image.pointee.Yoffset)) }
}
