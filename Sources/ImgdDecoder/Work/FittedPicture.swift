import CVips
import ImgdDecode
import ImgdPicture

/// A picture fitted into a box: upright, in the colours of a screen.
enum FittedPicture {
  static func make(_ source: Source, _ box: Rendition.Box, allFrames: Bool) throws(DecodeFailure)
    -> VipsPicture
  {
    // The limits are those of the whole picture: a loader may have to decode all of it.
    let whole = try source.open(allFrames: allFrames)
    let isTurned = whole.orientation >= 5
    let own = Size(
      width: isTurned ? whole.frameHeight : whole.width,
      height: isTurned ? whole.width : whole.frameHeight)
    guard allFrames, whole.height > whole.frameHeight else {
      return try still(source, whole, box, own)
    }
    return try moving(source, whole, box, own)
  }

  private static func still(
    _ source: Source, _ whole: VipsPicture, _ box: Rendition.Box, _ own: Size
  ) throws(DecodeFailure) -> VipsPicture {
    let made = box.fit == .contain ? Size(inside: box, own) : Size(fitting: own, into: box)
    try source.check(width: made.width, height: made.height, frames: 1)
    let size = box.fit == .fill ? VIPS_SIZE_FORCE : box.enlarges ? VIPS_SIZE_BOTH : VIPS_SIZE_DOWN
    let crop =
      box.fit != .cover
      ? VIPS_INTERESTING_NONE
      : box.crop == .attention ? VIPS_INTERESTING_ATTENTION : VIPS_INTERESTING_CENTRE
    // What is scaled in linear light has to be decoded in full.
    let shrink = box.isLinear ? 1 : own.shrink(to: box)
    let opened = try source.openSmall(shrink: shrink) ?? whole
    return try opened.fitted(
      to: Size(fitting: own, into: box), size: size, crop: crop, isLinear: box.isLinear)
  }

  /// The library would cut the column of all frames: here each is cut.
  private static func moving(
    _ source: Source, _ whole: VipsPicture, _ box: Rendition.Box, _ own: Size
  ) throws(DecodeFailure) -> VipsPicture {
    let scaled = box.fit == .cover ? own.covering(box) : Size(inside: box, own)
    try source.check(
      width: scaled.width, height: scaled.height, frames: whole.height / whole.frameHeight)
    let column = try whole.fitted(
      to: scaled, size: VIPS_SIZE_FORCE, crop: VIPS_INTERESTING_NONE, isLinear: box.isLinear)
    guard box.fit == .cover else { return column }
    return try AnimationCut.cut(column, to: Size(fitting: scaled, into: box), crop: box.crop)
  }
}

extension VipsPicture {
  fileprivate func fitted(to size: Size, size mode: VipsSize, crop: VipsInteresting, isLinear: Bool)
    throws(DecodeFailure) -> VipsPicture
  {
    try unsafe VipsPicture(
      cvips_thumbnail(
        image, CInt(size.width), CInt(size.height), mode, crop, isLinear ? 1 : 0))
  }
}

extension Source {
  /// Some loaders decode a smaller picture in less time, roughly; half of the way is left for the library, which does
  /// it well. Nil for the others, or if there is not so much to leave out.
  fileprivate func openSmall(shrink: Double) throws(DecodeFailure) -> VipsPicture? {
    guard shrink >= 4, let loader = format.loader else { return nil }
    let opened: VipsPicture
    switch format {
    case .jpeg:
      let factor: CInt = shrink >= 16 ? 8 : shrink >= 8 ? 4 : 2
      opened = try unsafe VipsPicture(cvips_load_small(loader.operation, start, count, factor, 1))
    case .webp:
      opened = try unsafe VipsPicture(
        cvips_load_small(loader.operation, start, count, 1, 2 / shrink))
    default: return nil
    }
    orient(opened)
    return opened
  }
}
