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
    /// The first frame in RGBA, 8 bits each, alpha not premultiplied.
    case pixels
    /// A file; without a format, in that of the picture or the nearest that can be written.
    case file(PictureFormat?, quality: Int?)
    /// A few bytes that stand for the picture until it can be shown.
    case description
  }

  /// The frames of an animation that a file keeps.
  package enum Frames: UInt8, Hashable, Sendable { case all, first }

  package var output: Output
  /// The size to fit the picture into; nil for its own.
  package var box: Box?
  package var frames: Frames

  package init(_ output: Output, box: Box? = nil, frames: Frames = .all) {
    self.output = output
    self.box = box
    self.frames = frames
  }

  /// A size, and how a picture of other proportions is fitted into it.
  package struct Box: Hashable, Sendable {
    /// How a picture whose proportions differ from those of the box is placed in it.
    package enum Fit: UInt8, Sendable {
      /// Inside the box, keeping its proportions.
      case contain
      /// Covering the box; what overflows is cut off.
      case cover
      /// Stretched to the box.
      case fill
    }

    /// The part that `cover` keeps.
    package enum Crop: UInt8, Sendable {
      case centre
      /// The part that draws the eye.
      case attention
    }

    /// Nil where only the other side is given; both are given for `cover` and `fill`.
    package var width: Int?
    package var height: Int?
    package var fit: Fit
    package var crop: Crop
    /// Whether a smaller picture is enlarged.
    package var enlarges: Bool
    /// Whether it is scaled in linear light.
    package var isLinear: Bool

    package init(
      width: Int?, height: Int?, fit: Fit = .contain, crop: Crop = .centre, enlarges: Bool = false,
      isLinear: Bool = false
    ) {
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

  /// kind of output (1 byte), format (1), quality (1), frames (1), whether there is a box (1), box
  fileprivate mutating func append(_ rendition: Rendition) {
    switch rendition.output {
    case .pixels: append([0, MessageLayout.none, 0])
    case .file(let format, let quality):
      append([1, format?.rawValue ?? MessageLayout.none, UInt8(clamping: quality ?? 0)])
    case .description: append([2, MessageLayout.none, 0])
    }
    append(rendition.frames.rawValue)
    append(rendition.box != nil)
    if let box = rendition.box { append(box) }
  }

  /// width, height (4 bytes each, 0 for none), fit, crop, whether it enlarges, whether it is linear (1 each)
  private mutating func append(_ box: Rendition.Box) {
    append32(box.width ?? 0)
    append32(box.height ?? 0)
    append(box.fit.rawValue)
    append(box.crop.rawValue)
    append(box.enlarges)
    append(box.isLinear)
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
    guard let output = output(), let frames = byte().flatMap(Rendition.Frames.init), let isInBox = flag() else {
      return nil
    }
    guard isInBox else { return Rendition(output, frames: frames) }
    return box().map { Rendition(output, box: $0, frames: frames) }
  }

  private mutating func output() -> Rendition.Output? {
    guard let values = list(3...3) else { return nil }
    switch (values[0], values[1], values[2]) {
    case (0, MessageLayout.none, 0): return .pixels
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
      let fit = byte().flatMap(Rendition.Box.Fit.init), let crop = byte().flatMap(Rendition.Box.Crop.init),
      let enlarges = flag(), let isLinear = flag()
    else { return nil }
    return Rendition.Box(
      width: width == 0 ? nil : width, height: height == 0 ? nil : height, fit: fit, crop: crop, enlarges: enlarges,
      isLinear: isLinear)
  }
}
