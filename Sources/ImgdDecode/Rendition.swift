package import ImgdPicture

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
