import CVips
import ImgdDecode

struct Corner: Equatable {
  let left: Int
  let top: Int
}

extension Corner {
  func moved(by corner: Corner?) -> Corner {
    Corner(left: left + (corner?.left ?? 0), top: top + (corner?.top ?? 0))
  }

  /// Where a part begins that has a point, in fractions of the sides, as near to its middle as the whole allows.
  init(of part: Size, around point: (x: Double, y: Double), in whole: Size) {
    func start(_ point: Double, _ part: Int, _ whole: Int) -> Int {
      min(max(0, Int((point * Double(whole) - Double(part) / 2).rounded())), max(0, whole - part))
    }
    self.init(left: start(point.x, part.width, whole.width), top: start(point.y, part.height, whole.height))
  }
}

/// A part of the upright picture in whole pixels.
struct CutPart: Equatable {
  let corner: Corner
  let size: Size

  init(corner: Corner, size: Size) { (self.corner, self.size) = (corner, size) }

  /// What of an area is inside of a picture, in which the eye may decide; in a drawing, the middle.
  init(_ area: Rendition.Box.Area, of whole: Size, as opened: VipsPicture?) throws(DecodeFailure) {
    if let crop = area.crop {
      size = Size(width: min(area.width, whole.width), height: min(area.height, whole.height))
      if crop == .attention, let opened {
        corner = try opened.attentive(size)
      } else {
        corner = Corner(of: size, around: crop.point, in: whole)
      }
      return
    }
    func span(_ start: Int, _ length: Int, _ side: Int) -> Range<Int> {
      guard area.isRelative else { return min(start, side)..<min(start + length, side) }
      let place = { (millionths: Int) in min(side, Int((Double(millionths) / 1e6 * Double(side)).rounded())) }
      let first = min(place(start), side - 1)
      return first..<max(first + 1, place(start + length))
    }
    let (across, down) = (span(area.x, area.width, whole.width), span(area.y, area.height, whole.height))
    guard !across.isEmpty, !down.isEmpty else {
      throw DecodeFailure(
        .unmade, "the area begins at \(area.x),\(area.y), outside of the \(whole.width)x\(whole.height) pixels")
    }
    corner = Corner(left: across.lowerBound, top: down.lowerBound)
    size = Size(width: across.count, height: down.count)
  }
}

/// The frames of an animation, one below the other, of which each becomes another.
struct FrameColumn {
  private let column: VipsPicture

  init(_ column: VipsPicture) { self.column = column }

  func mapped(_ change: (VipsPicture) throws(DecodeFailure) -> VipsPicture) throws(DecodeFailure) -> VipsPicture {
    guard column.frames > 1 else { return try change(column) }
    let frame = Size(width: column.width, height: column.frameHeight)
    // The frames are not read one row after the other.
    let whole = try column.computed()
    var frames: [VipsPicture] = []
    for top in stride(from: 0, to: whole.height, by: frame.height) {
      frames.append(try change(try whole.part(0, top, frame)))
    }
    let joined = try Self.join(frames)
    joined.set("page-height", joined.height / frames.count)
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
  /// Cuts the same part out of all frames.
  func cut(to size: Size, at corner: Corner) throws(DecodeFailure) -> VipsPicture {
    guard size != Size(width: width, height: frameHeight) else { return self }
    return try FrameColumn(self).mapped { (frame) throws(DecodeFailure) in
      try frame.part(corner.left, corner.top, size)
    }
  }

  /// Cuts out the part that a crop keeps, which the first frame decides.
  func cut(to size: Size, crop: Rendition.Box.Crop) throws(DecodeFailure) -> VipsPicture {
    let frame = Size(width: width, height: frameHeight)
    guard size != frame else { return self }
    switch crop {
    case .centre:
      let middle = Corner(left: (frame.width - size.width) / 2, top: (frame.height - size.height) / 2)
      return try cut(to: size, at: middle)
    case .attention:
      let whole = try computed()
      return try whole.cut(to: size, at: try whole.attentive(size))
    case .point(let x, let y):
      return try cut(to: size, at: Corner(of: size, around: (Double(x) / 1e6, Double(y) / 1e6), in: frame))
    }
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
