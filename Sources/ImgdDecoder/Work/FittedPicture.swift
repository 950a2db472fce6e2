import CVips
import ImgdDecode
import ImgdPicture

/// A picture upright and fitted into a box if there is one. Sizes are checked before a pixel is computed.
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
  var frames: Int { height / max(1, frameHeight) }

  fileprivate var uprightFrame: Size {
    orientation >= 5 ? Size(width: frameHeight, height: width) : Size(width: width, height: frameHeight)
  }

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
    let isBound = box.fit != .contain && !box.enlarges
    self.init(width: isBound ? min(width, own.width) : width, height: isBound ? min(height, own.height) : height)
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
    let target = box.fit == .contain ? Size(inside: box, self) : covering(box)
    return min(Double(width) / Double(target.width), Double(height) / Double(target.height))
  }

  private func scaled(by factor: Double, enlarging: Bool) -> Size {
    let factor = enlarging ? factor : min(1, factor)
    return Size(width: Int((Double(width) * factor).rounded()), height: Int((Double(height) * factor).rounded()))
  }
}

/// How a picture covers a size for which it has to be enlarged. What overflows is cut off before enlarging, not
/// afterwards: when a wide picture covers a tall box, hardly any of it is seen, and the whole of it, enlarged, might
/// have a thousand times as many pixels as are wanted.
struct EnlargedCover {
  private let across: CoveredSide
  private let down: CoveredSide

  /// Nil for a picture that is large enough.
  init?(of own: Size, wanted: Size) {
    let factor = max(Double(wanted.width) / Double(own.width), Double(wanted.height) / Double(own.height))
    guard factor > 1 else { return nil }
    across = CoveredSide(own: own.width, wanted: wanted.width, factor: factor)
    down = CoveredSide(own: own.height, wanted: wanted.height, factor: factor)
  }

  /// The size of what is seen of the picture, in whole pixels.
  var seen: Size { Size(width: across.mostSeen, height: down.mostSeen) }

  var part: Size { Size(width: across.count, height: down.count) }

  var enlarged: Size { Size(width: across.enlarged, height: down.enlarged) }

  /// Where the part begins in the picture, and where the wanted area begins in the enlarged part. Without `place`,
  /// the middle of the picture is seen.
  func corners(seenFrom place: Corner?) -> (part: Corner, wanted: Corner) {
    let left = across.starts(seenFrom: place?.left)
    let top = down.starts(seenFrom: place?.top)
    return (Corner(left: left.part, top: top.part), Corner(left: left.wanted, top: top.wanted))
  }
}

struct Corner {
  let left: Int
  let top: Int
}

/// A side of a picture, of which a part is enlarged to cover a length.
private struct CoveredSide {
  /// Pixels beside those that are seen, which are mixed into the outermost ones.
  private static let margin = 2

  let own: Int
  let wanted: Int
  let factor: Double

  private var seen: Double { min(Double(own), Double(wanted) / factor) }

  var mostSeen: Int { min(own, Int(seen.rounded(.up))) }

  var count: Int { min(own, mostSeen + 1 + 2 * Self.margin) }

  var enlarged: Int { max(wanted, Int((Double(count) * factor).rounded())) }

  func starts(seenFrom place: Int?) -> (part: Int, wanted: Int) {
    let last = Double(own) - seen
    let first = place.map { min(max(0, Double($0)), last) } ?? last / 2
    let part = min(max(0, Int(first) - Self.margin), own - count)
    let inside = Int(((first - Double(part)) * factor).rounded())
    return (part, min(max(0, inside), enlarged - wanted))
  }
}

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
