/// The primary item of a HEIF file: its codec and its properties.
struct HEIFItem {
  /// nil when the item is not a coded picture, but a grid, for example.
  let format: PictureFormat?
  private(set) var width: Int?
  private(set) var height: Int?
  private(set) var orientation = Orientation.upright

  /// nil when there is no primary item.
  init?(meta: Range<Int>, bytes: Span<UInt8>) {
    let boxes = meta.dropping(4)
    guard let primary = Self.primary(in: boxes, of: bytes) else { return nil }
    format = Self.format(of: primary, in: boxes, of: bytes)
    guard let properties = BoxWalk.first("iprp", in: boxes, of: bytes),
      let container = BoxWalk.first("ipco", in: properties, of: bytes)
    else { return }
    let all = Self.boxes(in: container, of: bytes)
    for index in ItemProperties.indices(of: primary, in: properties, of: bytes) where all.indices.contains(index - 1) {
      apply(all[index - 1], of: bytes)
    }
  }

  private static func boxes(in container: Range<Int>, of bytes: Span<UInt8>) -> [Box] {
    var boxes: [Box] = []
    boxes.reserveCapacity(16)
    var walk = BoxWalk(container)
    while let box = walk.next(in: bytes) { boxes.append(box) }
    return boxes
  }

  private mutating func apply(_ property: Box, of bytes: Span<UInt8>) {
    let start = property.body.lowerBound
    switch property.name {
    case "ispe":
      width = width ?? bytes.big32(at: start + 4)
      height = height ?? bytes.big32(at: start + 8)
    case "clap": crop(to: start, of: bytes)
    case "irot": orientation.rotate(quarters: bytes.byte(at: start) ?? 0)
    case "imir": orientation.mirror(leftToRight: bytes.byte(at: start).map { $0 & 1 == 1 } ?? false)
    default: break
    }
  }

  /// Encoders that need even sides pad the picture and state the visible part as two fractions.
  private mutating func crop(to place: Int, of bytes: Span<UInt8>) {
    width = Self.side(width, croppedBy: place, of: bytes)
    height = Self.side(height, croppedBy: place + 8, of: bytes)
  }

  private static func side(_ side: Int?, croppedBy fraction: Int, of bytes: Span<UInt8>) -> Int? {
    guard let side, let dividend = bytes.big32(at: fraction), let divisor = bytes.big32(at: fraction + 4), divisor > 0
    else { return side }
    return min(side, dividend / divisor)
  }

  private static func primary(in boxes: Range<Int>, of bytes: Span<UInt8>) -> Int? {
    guard let body = BoxWalk.first("pitm", in: boxes, of: bytes), let version = bytes.byte(at: body.lowerBound) else {
      return nil
    }
    let place = body.lowerBound + 4
    return version == 0 ? bytes.big16(at: place) : bytes.big32(at: place)
  }

  private static func format(of item: Int, in boxes: Range<Int>, of bytes: Span<UInt8>) -> PictureFormat? {
    guard let body = BoxWalk.first("iinf", in: boxes, of: bytes), let version = bytes.byte(at: body.lowerBound) else {
      return nil
    }
    var walk = BoxWalk(body.dropping(version == 0 ? 6 : 8))
    while let entry = walk.next(in: bytes) {
      if let codec = codec(of: item, statedIn: entry.body, of: bytes) { return pictureFormat(of: codec) }
    }
    return nil
  }

  /// An entry has a wide or narrow number, two bytes about protection, then the codec.
  private static func codec(of item: Int, statedIn entry: Range<Int>, of bytes: Span<UInt8>) -> FourCC? {
    let place = entry.lowerBound + 4
    let isWide = bytes.byte(at: entry.lowerBound) == 3
    let number = isWide ? bytes.big32(at: place) : bytes.big16(at: place)
    return number == item ? bytes.fourCC(at: place + (isWide ? 6 : 4)) : nil
  }

  private static func pictureFormat(of codec: FourCC) -> PictureFormat? {
    switch codec {
    case "av01": .avif
    case "hvc1", "hev1": .heic
    default: nil
    }
  }
}
