import CVips
import ImgdDecode
import ImgdPicture

/// A picture upright and fitted into a box if there is one. Sizes are checked before a pixel is computed.
struct FittedPicture {
  /// The size of a frame of the result, upright and padded.
  let size: Size
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

  init(_ source: Source, in wanted: Rendition.Box?, allFrames: Bool = false) throws(DecodeFailure) {
    let opened = source.format.isDrawn ? nil : try source.open(allFrames: allFrames)
    var box = wanted
    // No size of a drawing is larger than it.
    if opened == nil { box?.enlarges = true }
    let whole = opened?.uprightFrame ?? Size(width: source.picture.width, height: source.picture.height)
    part = try box?.area.map { (area) throws(DecodeFailure) in try CutPart(area, of: whole) }
    let own = part?.size ?? whole
    self.source = source
    self.opened = opened
    self.box = box
    self.own = own
    size = box.map { Size(of: own, in: $0) } ?? own
    cover = box?.fit == .cover && opened != nil ? EnlargedCover(of: own, wanted: self.size) : nil
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
    if let part { opened = try opened.upright().cut(to: part.size, at: part.corner) }
    guard box.width != nil || box.height != nil else { return try opened.upright() }
    if let cover { return try enlarged(opened, cover, box) }
    if opened.frames == 1 {
      // A picture that is cut, or scaled in linear light, has to be decoded in full.
      let shrink = box.isLinear || part != nil ? 1 : own.shrink(to: box)
      opened = try source.openSmall(shrink: shrink) ?? opened
      if box.fit != .cover || box.crop.isFound { return try found(opened, box) }
    }
    return try cut(opened, box)
  }

  private func drawn() throws(DecodeFailure) -> VipsPicture {
    let whole = DrawnPart(part ?? CutPart(corner: Corner(left: 0, top: 0), size: own))
    guard let box else { return try source.draw(whole, as: own) }
    guard box.fit == .cover else { return try source.draw(whole, as: Size(of: own, in: box.unpadded)) }
    return try source.draw(try source.seen(of: whole, covering: size, box.crop), as: size)
  }

  /// Fills what the picture leaves of its box. A format without alpha shows a colour everywhere, which is white unless
  /// one is named.
  func padded(_ picture: VipsPicture, withAlpha: Bool) throws(DecodeFailure) -> VipsPicture {
    guard box?.fit == .pad, size != Size(width: picture.width, height: picture.frameHeight) else { return picture }
    let colour = background(withAlpha: withAlpha)
    let picture = withAlpha && colour.alpha < 255 && !picture.hasAlpha ? try picture.opaque() : picture
    return try FrameColumn(picture).mapped { (frame) throws(DecodeFailure) in try frame.embedded(in: size, colour) }
  }

  /// The colour behind the picture.
  func background(withAlpha: Bool) -> Rendition.Colour {
    withAlpha ? box?.background ?? .clear : (box?.background ?? .white).onWhite
  }

  /// The library finds the size, and the part that is kept.
  private func found(_ opened: VipsPicture, _ box: Rendition.Box) throws(DecodeFailure) -> VipsPicture {
    let size = box.fit == .fill ? VIPS_SIZE_FORCE : box.enlarges ? VIPS_SIZE_BOTH : VIPS_SIZE_DOWN
    let crop =
      box.fit != .cover
      ? VIPS_INTERESTING_NONE : box.crop == .attention ? VIPS_INTERESTING_ATTENTION : VIPS_INTERESTING_CENTRE
    return try opened.fitted(to: Size(fitting: own, into: box), size: size, crop: crop, isLinear: box.isLinear)
  }

  /// Each frame is cut alike: the library would cut the column of all frames as one picture, and knows no points.
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
    return try part.cut(to: size, at: corners.wanted)
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

  /// The picture in the middle of a larger one.
  fileprivate func embedded(in size: Size, _ colour: Rendition.Colour) throws(DecodeFailure) -> VipsPicture {
    try unsafe VipsPicture(
      cvips_embed(
        image, CInt((size.width - width) / 2), CInt((size.height - height) / 2), CInt(size.width), CInt(size.height),
        CInt(colour.red), CInt(colour.green), CInt(colour.blue), CInt(colour.alpha)))
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

/// Width and height, at least one pixel each.
struct Size: Equatable {
  /// Stands for a side that is not limited; the library allows no more.
  private static let unlimited = 10_000_000

  let width: Int
  let height: Int

  init(width: Int, height: Int) {
    self.width = max(1, width)
    self.height = max(1, height)
  }

  /// The size to ask the library for, so that a picture of the size `own` comes out in the box.
  init(fitting own: Size, into box: Rendition.Box) {
    let width = box.width ?? Self.unlimited
    let height = box.height ?? Self.unlimited
    // Stretching would enlarge a side that is shorter than the box.
    let isBound = box.fit != .contain && box.fit != .pad && !box.enlarges
    self.init(width: isBound ? min(width, own.width) : width, height: isBound ? min(height, own.height) : height)
  }

  /// The size of what is made of a picture for a box.
  init(of own: Size, in box: Rendition.Box) {
    switch box.fit {
    case .contain: self.init(inside: box, own)
    case .cover, .fill: self.init(fitting: own, into: box)
    case .pad: self.init(width: box.width ?? own.width, height: box.height ?? own.height)
    }
  }

  /// The size of a picture that the box contains.
  init(inside box: Rendition.Box, _ own: Size) {
    let sides = [box.width.map { Double($0) / Double(own.width) }, box.height.map { Double($0) / Double(own.height) }]
      .compactMap { $0 }
    self = own.scaled(by: sides.min() ?? 1, enlarging: box.enlarges)
  }

  func covering(_ box: Rendition.Box) -> Size {
    let across = Double(box.width ?? width) / Double(width)
    let down = Double(box.height ?? height) / Double(height)
    return scaled(by: max(across, down), enlarging: box.enlarges)
  }

  /// The factor by which the picture could shrink and still be large enough: the smaller one of its two sides.
  func shrink(to box: Rendition.Box) -> Double {
    let target = box.fit == .contain || box.fit == .pad ? Size(inside: box, self) : covering(box)
    return min(Double(width) / Double(target.width), Double(height) / Double(target.height))
  }

  private func scaled(by factor: Double, enlarging: Bool) -> Size {
    let factor = enlarging ? factor : min(1, factor)
    return Size(width: Int((Double(width) * factor).rounded()), height: Int((Double(height) * factor).rounded()))
  }
}
