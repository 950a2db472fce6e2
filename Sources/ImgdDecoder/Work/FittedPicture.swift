import CVips
import ImgdDecode
import ImgdPicture

/// A picture upright, in the colours of a screen, and fitted into a box if there is one.
///
/// All sizes are known, and within the limits, before a pixel is computed.
struct FittedPicture {
  /// The size of a frame of the result, upright.
  let size: Size
  private let source: Source
  private let opened: VipsPicture
  private let box: Rendition.Box?
  /// The size of a frame before fitting, upright.
  private let own: Size
  /// For a picture that has to be enlarged to cover the box.
  private let cover: EnlargedCover?

  init(_ opened: VipsPicture, of source: Source, in box: Rendition.Box?) throws(DecodeFailure) {
    let own = opened.uprightFrame
    let size = box.map { $0.fit == .contain ? Size(inside: $0, own) : Size(fitting: own, into: $0) }
    self.source = source
    self.opened = opened
    self.box = box
    self.own = own
    self.size = size ?? own
    cover = box?.fit == .cover ? EnlargedCover(of: own, wanted: self.size) : nil
    let frames = opened.frames
    try source.check(width: self.size.width, height: self.size.height, frames: frames)
    // All other steps are at most as large as the picture itself, or as the result.
    if let between = cover?.enlarged {
      try source.check(width: between.width, height: between.height, frames: frames, "in between")
    }
  }

  func make() throws(DecodeFailure) -> VipsPicture {
    guard let box else { return try opened.upright() }
    if let cover { return try enlarged(cover, box) }
    return opened.frames > 1 ? try moving(box) : try still(box)
  }

  private func still(_ box: Rendition.Box) throws(DecodeFailure) -> VipsPicture {
    let size = box.fit == .fill ? VIPS_SIZE_FORCE : box.enlarges ? VIPS_SIZE_BOTH : VIPS_SIZE_DOWN
    let crop =
      box.fit != .cover
      ? VIPS_INTERESTING_NONE : box.crop == .attention ? VIPS_INTERESTING_ATTENTION : VIPS_INTERESTING_CENTRE
    // A picture that is scaled in linear light has to be decoded in full.
    let shrink = box.isLinear ? 1 : own.shrink(to: box)
    let opened = try source.openSmall(shrink: shrink) ?? opened
    return try opened.fitted(to: Size(fitting: own, into: box), size: size, crop: crop, isLinear: box.isLinear)
  }

  /// The library would cut the column of all frames as one picture: here each frame is cut.
  private func moving(_ box: Rendition.Box) throws(DecodeFailure) -> VipsPicture {
    let scaled = box.fit == .cover ? own.covering(box) : size
    let column = try opened.fitted(
      to: scaled, size: VIPS_SIZE_FORCE, crop: VIPS_INTERESTING_NONE, isLinear: box.isLinear)
    guard box.fit == .cover else { return column }
    return try AnimationCut.cut(column, to: Size(fitting: scaled, into: box), crop: box.crop)
  }

  private func enlarged(_ cover: EnlargedCover, _ box: Rendition.Box) throws(DecodeFailure) -> VipsPicture {
    var whole = try opened.upright()
    var place: Corner?
    if box.crop == .attention {
      whole = try whole.computed()
      place = try whole.attentive(cover.seen)
    }
    let corners = cover.corners(seenFrom: place)
    let part = try whole.cut(to: cover.part, at: corners.part).fitted(
      to: cover.enlarged, size: VIPS_SIZE_FORCE, crop: VIPS_INTERESTING_NONE, isLinear: box.isLinear)
    return try part.cut(to: size, at: corners.wanted)
  }
}

extension VipsPicture {
  /// How many frames are one below the other.
  var frames: Int { height / max(1, frameHeight) }

  /// The size of a frame as it is seen.
  fileprivate var uprightFrame: Size {
    orientation >= 5 ? Size(width: frameHeight, height: width) : Size(width: width, height: frameHeight)
  }

  /// Cuts the same part out of each frame.
  fileprivate func cut(to size: Size, at corner: Corner) throws(DecodeFailure) -> VipsPicture {
    frames > 1 ? try AnimationCut.cut(self, to: size, at: corner) : try part(corner.left, corner.top, size)
  }

  fileprivate func fitted(to size: Size, size mode: VipsSize, crop: VipsInteresting, isLinear: Bool)
    throws(DecodeFailure) -> VipsPicture
  {
    try unsafe VipsPicture(cvips_thumbnail(image, CInt(size.width), CInt(size.height), mode, crop, isLinear ? 1 : 0))
  }
}

extension Source {
  /// Opens a smaller picture, which some loaders decode in less time, but roughly: half of the way is left to the
  /// library, which does it well. Nil for the other loaders, or if there is too little to leave out.
  fileprivate func openSmall(shrink: Double) throws(DecodeFailure) -> VipsPicture? {
    guard shrink >= 4, let loader = format.loader else { return nil }
    let opened: VipsPicture
    switch format {
    case .jpeg:
      let factor: CInt = shrink >= 16 ? 8 : shrink >= 8 ? 4 : 2
      opened = try unsafe VipsPicture(cvips_load_small(loader.name, start, count, factor, 1))
    case .webp: opened = try unsafe VipsPicture(cvips_load_small(loader.name, start, count, 1, 2 / shrink))
    default: return nil
    }
    orient(opened)
    return opened
  }
}
