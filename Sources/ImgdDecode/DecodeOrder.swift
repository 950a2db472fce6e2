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
  /// Of a file whose format has a quality, which is lowered until the file fits.
  package var mostBytes: Int?

  package init(
    _ output: Output, box: Box? = nil, frames: Frames = .all, layout: Layout = .rgba, mostBytes: Int? = nil
  ) {
    self.mostBytes = mostBytes
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
      /// `cover` where the picture lies or stands as the box does, otherwise `contain`.
      case coverAlike
      /// `cover`, in the proportions of the box even where the picture is smaller.
      case coverDown
    }

    /// The part that `cover` keeps.
    package enum Crop: Hashable, Sendable {
      case centre
      /// The part that draws the eye.
      case attention
      /// A point, in millionths of the sides, comes as near to the middle as the picture allows.
      case point(x: Int, y: Int)
    }

    /// Pixels that are added on each side.
    package struct Padding: Hashable, Sendable {
      package let top: Int
      package let right: Int
      package let bottom: Int
      package let left: Int

      package init(top: Int, right: Int, bottom: Int, left: Int) {
        (self.top, self.right, self.bottom, self.left) = (top, right, bottom, left)
      }
    }

    /// A part of the upright picture.
    package struct Area: Hashable, Sendable {
      package let x: Int
      package let y: Int
      package let width: Int
      package let height: Int
      /// Whether these are millionths of the picture's sides, and not pixels.
      package let isRelative: Bool
      /// What says where it is, in place of a corner.
      package let crop: Crop?

      package init(x: Int, y: Int, width: Int, height: Int, isRelative: Bool) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
        self.isRelative = isRelative
        crop = nil
      }

      package init(around crop: Crop, width: Int, height: Int) {
        (x, y, self.width, self.height) = (0, 0, width, height)
        isRelative = false
        self.crop = crop
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
    /// The smallest sides of what is made of the whole picture; what overflows the box is cut off.
    package var minWidth: Int?
    package var minHeight: Int?
    /// Millionths of the picture's own size, where the box has none.
    package var scale: Int?
    /// What is added after everything else.
    package var padding: Padding?
    /// Degrees clockwise by which the upright picture is turned before anything else.
    package var rotation = 0

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

extension PictureFormat {
  /// The quality in which it is written where none is named; nil for a format that has none.
  package var usualQuality: Int? {
    switch self {
    case .jpeg, .webp, .jxl: 80
    case .avif: 55
    default: nil
    }
  }
}
