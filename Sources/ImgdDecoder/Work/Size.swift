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
    let isBound = box.fit != .contain && !box.enlarges
    self.init(width: isBound ? min(width, own.width) : width, height: isBound ? min(height, own.height) : height)
  }

  /// The size of a picture that is fitted inside the box.
  init(inside box: Rendition.Box, _ own: Size) {
    guard box.fit == .contain else {
      self.init(fitting: own, into: box)
      return
    }
    let sides = [box.width.map { Double($0) / Double(own.width) }, box.height.map { Double($0) / Double(own.height) }]
      .compactMap { $0 }
    self = own.scaled(by: sides.min() ?? 1, enlarging: box.enlarges)
  }

  /// The size at which the picture covers the box.
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
