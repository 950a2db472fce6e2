import CVips
import ImgdDecode
import ImgdPicture

/// A picture upright and fitted into a box if there is one. Sizes are checked before a pixel is computed.
struct FittedPicture {
  /// The size of a frame of the result, upright and padded.
  let size: Size
  /// The size in its box, to which the padding is added.
  private let inner: Size
  private let source: Source
  /// Nil for a drawing, which is drawn in the size that is made of it.
  private let opened: VipsPicture?
  private let box: Rendition.Box?
  /// The part of a frame that is cut out first; nil for the whole.
  private let part: CutPart?
  /// The size of a frame before fitting, upright and cut.
  private let own: Size
  /// For a picture that has to be enlarged to cover the box.
  private let cover: EnlargedCover?

  init(_ whole: Source, in wanted: Rendition.Box?, allFrames: Bool = false) throws(DecodeFailure) {
    let source = try whole.turned(by: wanted?.rotation ?? 0)
    var opened = source.format.isDrawn ? nil : try source.open(allFrames: allFrames)
    var box = wanted
    // No size of a drawing is larger than it.
    if opened == nil { box?.enlarges = true }
    // It is read once to be looked at, and once more to be cut.
    if wanted?.area?.crop == .attention { opened = try opened?.upright().computed() }
    let whole = opened?.uprightFrame ?? Size(width: source.picture.width, height: source.picture.height)
    var part = try box?.area.map { (area) throws(DecodeFailure) in try CutPart(area, of: whole, as: opened) }
    if let least = box?.resolve(for: part?.size ?? whole) {
      part = CutPart(corner: least.corner.moved(by: part?.corner), size: least.size)
    }
    self.part = part
    let own = part?.size ?? whole
    self.source = source
    self.opened = opened
    self.box = box
    self.own = own
    inner = box.map { Size(of: own, in: $0) } ?? own
    size = inner.padded(by: box?.padding)
    cover = box?.fit == .cover && opened != nil ? EnlargedCover(of: own, wanted: inner) : nil
    try source.check(width: self.size.width, height: self.size.height, frames: frames)
    // All other steps are at most as large as the picture itself, or as the result.
    if let between = cover?.enlarged {
      try source.check(width: between.width, height: between.height, frames: frames, "in between")
    }
  }

  var frames: Int { opened?.frames ?? 1 }

  /// How long each of several frames is shown, in milliseconds.
  var delays: [Int] { opened.flatMap { $0.frames > 1 ? $0.delays : nil } ?? [] }

  var hasAlpha: Bool { opened?.hasAlpha ?? true }

  func make() throws(DecodeFailure) -> VipsPicture {
    guard var opened else { return try drawn() }
    guard let box else { return try opened.upright() }
    // The library would turn the column of all frames.
    if opened.frames > 1 { opened = try opened.upright() }
    if let part { opened = try opened.upright().cut(to: part.size, at: part.corner) }
    guard box.width != nil || box.height != nil else { return try opened.upright() }
    if let cover { return try enlarged(opened, cover, box) }
    if opened.frames == 1 {
      // A picture that is cut, or scaled in linear light, has to be decoded in full.
      let shrink = box.isLinear || part != nil ? 1 : own.shrink(to: box)
      opened = try source.openSmall(shrink: shrink) ?? opened
      if box.fit == .cover, box.crop.isFound { return try found(opened, box) }
    }
    return try cut(opened, box)
  }

  private func drawn() throws(DecodeFailure) -> VipsPicture {
    let whole = DrawnPart(part ?? CutPart(corner: Corner(left: 0, top: 0), size: own))
    guard let box else { return try source.draw(whole, as: own) }
    guard box.fit == .cover else { return try source.draw(whole, as: Size(of: own, in: box.unpadded)) }
    return try source.draw(try source.seen(of: whole, covering: inner, box.crop), as: inner)
  }

  /// Fills what the picture leaves of its box. A format without alpha shows a colour everywhere, which is white unless
  /// one is named.
  func padded(_ picture: VipsPicture, withAlpha: Bool) throws(DecodeFailure) -> VipsPicture {
    guard let box, box.fit == .pad || box.padding != nil,
      size != Size(width: picture.width, height: picture.frameHeight)
    else { return picture }
    let colour = background(withAlpha: withAlpha)
    let picture = withAlpha && colour.alpha < 255 && !picture.hasAlpha ? try picture.opaque() : picture
    return try FrameColumn(picture).mapped { (frame) throws(DecodeFailure) in
      let corner = Corner(
        left: (inner.width - frame.width) / 2 + (box.padding?.left ?? 0),
        top: (inner.height - frame.height) / 2 + (box.padding?.top ?? 0))
      return try frame.embedded(in: size, at: corner, colour)
    }
  }

  /// The colour behind the picture.
  func background(withAlpha: Bool) -> Rendition.Colour {
    withAlpha ? box?.background ?? .clear : (box?.background ?? .white).onWhite
  }

  /// The library finds the part that is kept.
  private func found(_ opened: VipsPicture, _ box: Rendition.Box) throws(DecodeFailure) -> VipsPicture {
    let crop = box.crop == .attention ? VIPS_INTERESTING_ATTENTION : VIPS_INTERESTING_CENTRE
    return try opened.fitted(
      to: inner, size: box.enlarges ? VIPS_SIZE_BOTH : VIPS_SIZE_DOWN, crop: crop, isLinear: box.isLinear)
  }

  /// The sizes are those of the picture itself: one that was opened smaller has rounded sides, which the library would go
  /// by. Each frame is cut alike: the library would cut the column of all frames as one picture, and knows no points.
  private func cut(_ opened: VipsPicture, _ box: Rendition.Box) throws(DecodeFailure) -> VipsPicture {
    let scaled = box.fit == .cover ? own.covering(box) : Size(of: own, in: box.unpadded)
    let column = try opened.fitted(
      to: scaled, size: VIPS_SIZE_FORCE, crop: VIPS_INTERESTING_NONE, isLinear: box.isLinear)
    guard box.fit == .cover else { return column }
    return try column.cut(to: Size(fitting: scaled, into: box), crop: box.crop)
  }

  private func enlarged(_ opened: VipsPicture, _ cover: EnlargedCover, _ box: Rendition.Box) throws(DecodeFailure)
    -> VipsPicture
  {
    var whole = try opened.upright()
    let corners: (part: Corner, wanted: Corner)
    switch box.crop {
    case .centre: corners = cover.corners(around: (0.5, 0.5))
    case .point(let x, let y): corners = cover.corners(around: (Double(x) / 1e6, Double(y) / 1e6))
    case .attention:
      whole = try whole.computed()
      corners = cover.corners(seenFrom: try whole.attentive(cover.seen))
    }
    let part = try whole.cut(to: cover.part, at: corners.part).fitted(
      to: cover.enlarged, size: VIPS_SIZE_FORCE, crop: VIPS_INTERESTING_NONE, isLinear: box.isLinear)
    return try part.cut(to: inner, at: corners.wanted)
  }
}

extension Rendition.Box {
  /// The box without padding.
  fileprivate var unpadded: Rendition.Box {
    var box = self
    if fit == .pad { box.fit = .contain }
    return box
  }
}

extension Rendition.Box.Crop {
  /// Whether the library finds the part.
  fileprivate var isFound: Bool { if case .point = self { false } else { true } }
}

extension Rendition.Colour {
  /// The opaque colour as it looks on white.
  fileprivate var onWhite: Rendition.Colour {
    let seen = Int(alpha)
    func mixed(_ channel: UInt8) -> UInt8 {
      let sum = Int(channel) * seen + 255 * (255 - seen)
      return UInt8((sum + 127) / 255)
    }
    return Rendition.Colour(red: mixed(red), green: mixed(green), blue: mixed(blue), alpha: 255)
  }
}

extension VipsPicture {
  var frames: Int { height / max(1, frameHeight) }

  fileprivate var uprightFrame: Size {
    orientation >= 5 ? Size(width: frameHeight, height: width) : Size(width: width, height: frameHeight)
  }

  /// The picture at a place of a larger one.
  fileprivate func embedded(in size: Size, at corner: Corner, _ colour: Rendition.Colour) throws(DecodeFailure)
    -> VipsPicture
  {
    try unsafe VipsPicture(
      cvips_embed(
        image, CInt(corner.left), CInt(corner.top), CInt(size.width), CInt(size.height), CInt(colour.red),
        CInt(colour.green), CInt(colour.blue), CInt(colour.alpha)))
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
