// How an order travels to a decoder.

import ImgdPicture
import ImgdSystem

/// magic, version, kind; serial (8 bytes), format (1), limits, rendition. The picture is the message's descriptor.
extension DecodeOrder {
  var message: [UInt8] {
    var writer = MessageWriter(.order)
    writer.append(serial)
    writer.append(format.rawValue)
    writer.append(limits)
    writer.append(rendition)
    return writer.bytes
  }

  init?(_ reader: consuming MessageReader, picture: Payload) {
    guard let serial = reader.number(UInt64.self), let format = reader.byte().flatMap(PictureFormat.init),
      let limits = reader.limits(), let rendition = reader.rendition(), reader.isAtEnd
    else { return nil }
    self.init(serial: serial, format: format, picture: picture, rendition: rendition, limits: limits)
  }
}

extension MessageWriter {
  /// pixels (8 bytes), frames (4), dimension (4)
  fileprivate mutating func append(_ limits: DecodeLimits) {
    append(UInt64(clamping: limits.pixels))
    append32(limits.frames)
    append32(limits.dimension)
  }

  /// kind of output (1 byte), format (1), quality or layout (1), frames (1), bytes (8, 0 for any), whether there is a box
  /// (1), box
  fileprivate mutating func append(_ rendition: Rendition) {
    switch rendition.output {
    case .pixels: append([0, MessageLayout.none, rendition.layout.rawValue])
    case .file(let format, let quality):
      append([1, format?.rawValue ?? MessageLayout.none, UInt8(clamping: quality ?? 0)])
    case .description: append([2, MessageLayout.none, 0])
    }
    append(rendition.frames.rawValue)
    append(UInt64(clamping: rendition.mostBytes ?? 0))
    append(rendition.box != nil)
    if let box = rendition.box { append(box) }
  }

  /// width, height (4 bytes each, 0 for none), fit, crop (1 each), point (4 each), whether it enlarges, whether it is
  /// linear (1 each), kind of area (1), area (4 each), its crop (9, for kind 3 alone), background (0 or 4 bytes in a
  /// list), least sides, scale (4 each, 0 for none), padding (4 each), quarter turns (1)
  private mutating func append(_ box: Rendition.Box) {
    append32(box.width ?? 0)
    append32(box.height ?? 0)
    append(box.fit.rawValue)
    append(box.crop)
    append(box.enlarges)
    append(box.isLinear)
    if let area = box.area {
      let kind: UInt8 = area.crop != nil ? 3 : area.isRelative ? 2 : 1
      append(kind, numbers: [area.x, area.y, area.width, area.height])
      if let crop = area.crop { append(crop) }
    } else {
      append(0, numbers: [0, 0, 0, 0])
    }
    append(box.background.map { [$0.red, $0.green, $0.blue, $0.alpha] } ?? [])
    for number in [box.minWidth, box.minHeight, box.scale] { append32(number ?? 0) }
    for number in box.padding.map({ [$0.top, $0.right, $0.bottom, $0.left] }) ?? [0, 0, 0, 0] { append32(number) }
    append(UInt8(box.rotation / 90))
  }

  private mutating func append(_ crop: Rendition.Box.Crop) {
    switch crop {
    case .centre: append(0, numbers: [0, 0])
    case .attention: append(1, numbers: [0, 0])
    case .point(let x, let y): append(2, numbers: [x, y])
    }
  }

  private mutating func append(_ kind: UInt8, numbers: [Int]) {
    append(kind)
    for number in numbers { append32(number) }
  }
}

extension MessageReader {
  fileprivate mutating func limits() -> DecodeLimits? {
    guard let pixels = number(UInt64.self).flatMap({ Int(exactly: $0) }), let frames = number32(0...Int(Int32.max)),
      let dimension = number32(0...Int(Int32.max))
    else { return nil }
    return DecodeLimits(pixels: pixels, frames: frames, dimension: dimension)
  }

  fileprivate mutating func rendition() -> Rendition? {
    guard let (output, layout) = output(), let frames = byte().flatMap(Rendition.Frames.init),
      let bytes = number(UInt64.self).flatMap({ Int(exactly: $0) }), let isInBox = flag()
    else { return nil }
    var rendition = Rendition(output, frames: frames, layout: layout, mostBytes: bytes == 0 ? nil : bytes)
    guard isInBox else { return rendition }
    guard let box = box() else { return nil }
    rendition.box = box
    return rendition
  }

  private mutating func output() -> (Rendition.Output, Rendition.Layout)? {
    guard let values = list(3...3) else { return nil }
    if values[0] == 0 {
      guard values[1] == MessageLayout.none, let layout = Rendition.Layout(rawValue: values[2]) else { return nil }
      return (.pixels, layout)
    }
    return output(values).map { ($0, .rgba) }
  }

  private func output(_ values: [UInt8]) -> Rendition.Output? {
    switch (values[0], values[1], values[2]) {
    case (2, MessageLayout.none, 0): return .description
    case (1, let format, let quality) where quality <= 100:
      let quality = quality == 0 ? nil : Int(quality)
      guard format != MessageLayout.none else { return .file(nil, quality: quality) }
      return PictureFormat(rawValue: format).map { .file($0, quality: quality) }
    default: return nil
    }
  }

  private mutating func box() -> Rendition.Box? {
    guard let width = number32(0...1_000_000), let height = number32(0...1_000_000),
      let fit = byte().flatMap(Rendition.Box.Fit.init), let crop = crop(), let enlarges = flag(), let isLinear = flag(),
      let area = area(), let background = background(), let minWidth = number32(0...1_000_000),
      let minHeight = number32(0...1_000_000), let scale = number32(0...8_000_000), let padding = padding(),
      let turns = byte(), turns < 4
    else { return nil }
    var box = Rendition.Box(
      width: width == 0 ? nil : width, height: height == 0 ? nil : height, fit: fit, crop: crop, enlarges: enlarges,
      isLinear: isLinear, area: area, background: background)
    (box.minWidth, box.minHeight) = (minWidth == 0 ? nil : minWidth, minHeight == 0 ? nil : minHeight)
    (box.scale, box.padding, box.rotation) = (scale == 0 ? nil : scale, padding, Int(turns) * 90)
    return box
  }

  /// Nil within for none.
  private mutating func padding() -> Rendition.Box.Padding?? {
    let sides = 0...1_000_000
    guard let top = number32(sides), let right = number32(sides), let bottom = number32(sides),
      let left = number32(sides)
    else { return nil }
    guard top + right + bottom + left > 0 else { return .some(nil) }
    return Rendition.Box.Padding(top: top, right: right, bottom: bottom, left: left)
  }

  private mutating func crop() -> Rendition.Box.Crop? {
    guard let kind = byte(), let x = number32(0...1_000_000), let y = number32(0...1_000_000) else { return nil }
    switch kind {
    case 0: return .centre
    case 1: return .attention
    case 2: return .point(x: x, y: y)
    default: return nil
    }
  }

  private mutating func area() -> Rendition.Box.Area?? {
    let sides = 0...1_000_000
    guard let kind = byte(), kind <= 3, let x = number32(sides), let y = number32(sides), let width = number32(sides),
      let height = number32(sides)
    else { return nil }
    guard kind > 0 else { return .some(nil) }
    guard width > 0, height > 0 else { return nil }
    if kind == 3 { return crop().map { Rendition.Box.Area(around: $0, width: width, height: height) } }
    return Rendition.Box.Area(x: x, y: y, width: width, height: height, isRelative: kind == 2)
  }

  private mutating func background() -> Rendition.Colour?? {
    guard let channels = list(0...4) else { return nil }
    switch channels.count {
    case 0: return .some(nil)
    case 4: return Rendition.Colour(red: channels[0], green: channels[1], blue: channels[2], alpha: channels[3])
    default: return nil
    }
  }
}
