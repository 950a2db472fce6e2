// Which size a picture comes to in a box. All of it is known before a pixel is computed.

import ImgdDecode

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
    // Of the last two, a resolved box has neither.
    case .cover, .fill, .coverAlike, .coverDown: self.init(fitting: own, into: box)
    case .pad: self.init(width: box.width ?? own.width, height: box.height ?? own.height)
    }
  }

  /// The size of a picture that the box contains.
  init(inside box: Rendition.Box, _ own: Size) {
    let sides = [box.width.map { Double($0) / Double(own.width) }, box.height.map { Double($0) / Double(own.height) }]
      .compactMap { $0 }
    self = own.scaled(by: sides.min() ?? 1, enlarging: box.enlarges)
  }

  func padded(by padding: Rendition.Box.Padding?) -> Size {
    guard let padding else { return self }
    return Size(width: width + padding.left + padding.right, height: height + padding.top + padding.bottom)
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

  func scaled(by factor: Double, enlarging: Bool) -> Size {
    let factor = enlarging ? factor : min(1, factor)
    return Size(width: Int((Double(width) * factor).rounded()), height: Int((Double(height) * factor).rounded()))
  }
}

extension Rendition.Box {
  /// Carries out what depends on the size of the picture: the box is one with a plain fit from then on. It returns the
  /// part that is seen of a picture that would be smaller than it may be; nil for the whole.
  mutating func resolve(for own: Size) -> CutPart? {
    resolveScale(for: own)
    resolveFit(for: own)
    return resolveLeast(for: own)
  }

  private mutating func resolveScale(for own: Size) {
    guard let scale, width == nil, height == nil else { return }
    let scaled = own.scaled(by: Double(scale) / 1e6, enlarging: enlarges)
    (width, height, fit) = (scaled.width, scaled.height, .fill)
  }

  private mutating func resolveFit(for own: Size) {
    guard let wide = width, let high = height else { return }
    switch fit {
    case .coverAlike: fit = (own.width >= own.height) == (wide >= high) ? .cover : .contain
    case .coverDown:
      let factor = min(Double(own.width) / Double(wide), Double(own.height) / Double(high))
      let covered = Size(width: wide, height: high).scaled(by: factor, enlarging: enlarges && factor > 1)
      (width, height, fit) = enlarges ? (wide, high, .cover) : (covered.width, covered.height, .cover)
    case .contain, .cover, .fill, .pad: break
    }
  }

  /// A picture that is enlarged to its least size is cut first, so that nothing in between is larger than the result.
  private mutating func resolveLeast(for own: Size) -> CutPart? {
    let plain = fit == .cover ? own.covering(self) : Size(of: own, in: self)
    let factors = [(minWidth, plain.width), (minHeight, plain.height)].map { Double($0 ?? 0) / Double($1) }
    guard let factor = factors.max(), factor > 1, fit != .pad else { return nil }
    let (wide, high) = (Double(plain.width) * factor, Double(plain.height) * factor)
    let seen = Size(
      width: Int(min(Double(width ?? .max), wide).rounded()), height: Int(min(Double(height ?? .max), high).rounded()))
    let part = Size(
      width: Int((Double(own.width) * Double(seen.width) / wide).rounded()),
      height: Int((Double(own.height) * Double(seen.height) / high).rounded()))
    let corner = Corner(of: part, around: crop.point, in: own)
    (width, height, fit, enlarges) = (seen.width, seen.height, .fill, true)
    return CutPart(corner: corner, size: part)
  }
}

extension Rendition.Box.Crop {
  /// The point in fractions of the sides; of what draws the eye, where nobody has looked for it, the middle.
  var point: (x: Double, y: Double) {
    if case .point(let x, let y) = self { (Double(x) / 1e6, Double(y) / 1e6) } else { (0.5, 0.5) }
  }
}
