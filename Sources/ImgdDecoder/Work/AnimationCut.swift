import CVips
import ImgdDecode

/// Cuts the same part out of all frames of an animation.
enum AnimationCut {
  static func cut(_ column: VipsPicture, to size: Size, crop: Rendition.Box.Crop)
    throws(DecodeFailure) -> VipsPicture
  {
    let height = column.frameHeight
    guard size != Size(width: column.width, height: height) else { return column }
    // The frames are read in another order than one row after the other.
    let whole = try column.computed()
    let first = try whole.part(0, 0, Size(width: whole.width, height: height))
    let part = try corner(of: first, size, crop)
    var frames: [VipsPicture] = []
    for top in stride(from: 0, to: whole.height, by: height) {
      frames.append(try whole.part(part.left, top + part.top, size))
    }
    let joined = try join(frames)
    joined.set("page-height", size.height)
    return joined
  }

  /// Where the part that is kept begins, which is decided by the first frame.
  private static func corner(of frame: VipsPicture, _ size: Size, _ crop: Rendition.Box.Crop)
    throws(DecodeFailure) -> (left: Int, top: Int)
  {
    let centre = ((frame.width - size.width) / 2, (frame.height - size.height) / 2)
    guard crop == .attention else { return centre }
    let (left, top) = try frame.attentive(size).place
    return (
      min(max(0, left), frame.width - size.width), min(max(0, top), frame.height - size.height)
    )
  }

  private static func join(_ frames: [VipsPicture]) throws(DecodeFailure) -> VipsPicture {
    var images: [UnsafeMutablePointer<VipsImage>?] = unsafe frames.map { unsafe $0.image }
    let joined = unsafe cvips_column(&images, CInt(images.count))
    withExtendedLifetime(frames) {}
    return try unsafe VipsPicture(joined)
  }
}

extension VipsPicture {
  fileprivate func part(_ left: Int, _ top: Int, _ size: Size) throws(DecodeFailure) -> VipsPicture
  {
    try unsafe VipsPicture(
      cvips_part(image, CInt(left), CInt(top), CInt(size.width), CInt(size.height)))
  }

  /// The part that draws the eye.
  fileprivate func attentive(_ size: Size) throws(DecodeFailure) -> VipsPicture {
    try unsafe VipsPicture(
      cvips_cut(image, CInt(size.width), CInt(size.height), VIPS_INTERESTING_ATTENTION))
  }

  /// Where a part was in the whole: the library notes where the origin of the whole is, seen from the part.
  fileprivate var place: (left: Int, top: Int) {
    unsafe (-Int(image.pointee.Xoffset), -Int(image.pointee.Yoffset))
  }
}
