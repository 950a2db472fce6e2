package import ImgdPicture
package import ImgdSystem

/// What a decoder is asked for: a picture's bytes, which travel as a sealed memfd, and the form wanted.
package struct DecodeOrder: Sendable {
  /// Repeated in the answer.
  package let serial: UInt64
  /// As recognised by the bytes; no loader of another format is tried.
  package let format: PictureFormat
  /// The bytes of the picture, in a memfd.
  package let picture: Payload
  package let rendition: Rendition
  package let limits: DecodeLimits

  package init(serial: UInt64, format: PictureFormat, picture: Payload, rendition: Rendition, limits: DecodeLimits) {
    self.serial = serial
    self.format = format
    self.picture = picture
    self.rendition = rendition
    self.limits = limits
  }
}

/// Limits for a picture that is decoded, and for what is made of it.
package struct DecodeLimits: Hashable, Sendable {
  /// Pixels of all frames together.
  package var pixels: Int
  package var frames: Int
  /// Pixels of either side.
  package var dimension: Int

  package init(pixels: Int = 100_000_000, frames: Int = 1_000, dimension: Int = 65_535) {
    self.pixels = pixels
    self.frames = frames
    self.dimension = dimension
  }
}

/// Another form of a picture that a decoder makes from its bytes: pixels, a file of another size or format, or
/// its description.
package struct Rendition: Hashable, Sendable {
  /// The form of the result.
  package enum Output: Hashable, Sendable {
    /// Frames in four bytes a pixel, one below the other.
    case pixels
    /// A file; without a format, in that of the picture or the nearest that can be written.
    case file(PictureFormat?, quality: Int?)
    /// A few bytes that stand for the picture until it can be shown.
    case description
  }

  /// How the bytes of a pixel lie.
  package enum Layout: UInt8, Hashable, Sendable {
    /// Red, green, blue and alpha, which is not multiplied in.
    case rgba
    /// Blue, green, red and alpha, which is multiplied in.
    case premultipliedBGRA
  }

  /// The frames of an animation that are kept.
  package enum Frames: UInt8, Hashable, Sendable { case all, first }

  package var output: Output
  /// The size to fit the picture into; nil for its own.
  package var box: Box?
  package var frames: Frames
  /// Of pixels.
  package var layout: Layout

  package init(_ output: Output, box: Box? = nil, frames: Frames = .all, layout: Layout = .rgba) {
    self.layout = layout
    self.output = output
    self.box = box
    self.frames = frames
  }

  /// A colour in sRGB, not premultiplied by its alpha.
  package struct Colour: Hashable, Sendable {
    package static let white = Colour(red: 255, green: 255, blue: 255, alpha: 255)
    package static let clear = Colour(red: 0, green: 0, blue: 0, alpha: 0)

    package let red: UInt8
    package let green: UInt8
    package let blue: UInt8
    package let alpha: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8) {
      (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
    }
  }

  /// A size, and how a picture of other proportions is fitted into it; or only a part of the picture.
  package struct Box: Hashable, Sendable {
    /// How a picture whose proportions differ from those of the box is placed in it.
    package enum Fit: UInt8, Sendable {
      /// Inside the box, keeping its proportions.
      case contain
      /// Covering the box; what overflows is cut off.
      case cover
      /// Stretched to the box.
      case fill
      /// Inside the box, the rest of which is filled.
      case pad
    }

    /// The part that `cover` keeps.
    package enum Crop: Hashable, Sendable {
      case centre
      /// The part that draws the eye.
      case attention
      /// A point, in millionths of the sides, comes as near to the middle as the picture allows.
      case point(x: Int, y: Int)
    }

    /// A part of the upright picture.
    package struct Area: Hashable, Sendable {
      package let x: Int
      package let y: Int
      package let width: Int
      package let height: Int
      /// Whether these are millionths of the picture's sides, and not pixels.
      package let isRelative: Bool

      package init(x: Int, y: Int, width: Int, height: Int, isRelative: Bool) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
        self.isRelative = isRelative
      }
    }

    /// The part that is cut out first; nil for the whole picture.
    package var area: Area?
    /// Nil where only the other side is given, or none; both are given for `cover`, `fill` and `pad`.
    package var width: Int?
    package var height: Int?
    package var fit: Fit
    package var crop: Crop
    /// Whether a smaller picture is enlarged.
    package var enlarges: Bool
    /// Whether it is scaled in linear light.
    package var isLinear: Bool
    /// What lies behind a picture that is padded, or that loses its alpha; nil for the usual.
    package var background: Rendition.Colour?

    package init(
      width: Int?, height: Int?, fit: Fit = .contain, crop: Crop = .centre, enlarges: Bool = false,
      isLinear: Bool = false, area: Area? = nil, background: Rendition.Colour? = nil
    ) {
      self.area = area
      self.background = background
      self.width = width
      self.height = height
      self.fit = fit
      self.crop = crop
      self.enlarges = enlarges
      self.isLinear = isLinear
    }
  }
}

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

  /// kind of output (1 byte), format (1), quality or layout (1), frames (1), whether there is a box (1), box
  fileprivate mutating func append(_ rendition: Rendition) {
    switch rendition.output {
    case .pixels: append([0, MessageLayout.none, rendition.layout.rawValue])
    case .file(let format, let quality):
      append([1, format?.rawValue ?? MessageLayout.none, UInt8(clamping: quality ?? 0)])
    case .description: append([2, MessageLayout.none, 0])
    }
    append(rendition.frames.rawValue)
    append(rendition.box != nil)
    if let box = rendition.box { append(box) }
  }

  /// width, height (4 bytes each, 0 for none), fit, crop (1 each), point (4 each), whether it enlarges, whether it is
  /// linear (1 each), kind of area (1), area (4 each), background (0 or 4 bytes in a list)
  private mutating func append(_ box: Rendition.Box) {
    append32(box.width ?? 0)
    append32(box.height ?? 0)
    append(box.fit.rawValue)
    switch box.crop {
    case .centre: append(0, numbers: [0, 0])
    case .attention: append(1, numbers: [0, 0])
    case .point(let x, let y): append(2, numbers: [x, y])
    }
    append(box.enlarges)
    append(box.isLinear)
    if let area = box.area {
      append(area.isRelative ? 2 : 1, numbers: [area.x, area.y, area.width, area.height])
    } else {
      append(0, numbers: [0, 0, 0, 0])
    }
    append(box.background.map { [$0.red, $0.green, $0.blue, $0.alpha] } ?? [])
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
    guard let (output, layout) = output(), let frames = byte().flatMap(Rendition.Frames.init), let isInBox = flag()
    else { return nil }
    guard isInBox else { return Rendition(output, frames: frames, layout: layout) }
    return box().map { Rendition(output, box: $0, frames: frames, layout: layout) }
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
      let area = area(), let background = background()
    else { return nil }
    return Rendition.Box(
      width: width == 0 ? nil : width, height: height == 0 ? nil : height, fit: fit, crop: crop, enlarges: enlarges,
      isLinear: isLinear, area: area, background: background)
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
    guard let kind = byte(), kind <= 2, let x = number32(sides), let y = number32(sides), let width = number32(sides),
      let height = number32(sides)
    else { return nil }
    guard kind > 0 else { return .some(nil) }
    guard width > 0, height > 0 else { return nil }
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
