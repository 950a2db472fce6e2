// The form of a picture is given in many ways: in a line of the protocol, in a target of the gateway, by options of
// imgctl, by programs that use the library. Which forms there are, and which values go together, is written here alone;
// each of those ways has its own words for what is wrong.

/// The form in which a picture is wanted: as its origin sends it, or another that is made of it.
package struct PictureForm: Hashable, Sendable {
  /// How a picture of other proportions fits a box: inside it, covering it, stretched to it, or inside it, with what is
  /// left of the box filled. `coverAlike` covers a box that lies or stands as the picture does, and is inside of any other;
  /// `coverDown` has the box's proportions also where the picture is smaller.
  package enum Fit: String, CaseIterable, Sendable {
    case contain, cover, fill, pad
    case coverAlike = "cover-alike"
    case coverDown = "cover-down"
  }

  /// The size that it is fitted into; nil for its own.
  package var box: Box?
  /// The encodings, the one liked best first; at least one.
  package var formats = [OutputFormat.original]
  /// The quality of the encoding; 100 is the best.
  package var quality: Int?
  /// The most bytes of the encoding, whose quality is lowered until it fits.
  package var mostBytes: Int?
  package var frames = FrameChoice.auto
  /// How pixels lie in memory; it means nothing for a file.
  package var layout = PixelLayout.rgba8

  package init(
    box: Box? = nil, formats: [OutputFormat] = [.original], quality: Int? = nil, mostBytes: Int? = nil,
    frames: FrameChoice = .auto, layout: PixelLayout = .rgba8
  ) {
    self.mostBytes = mostBytes
    self.layout = layout
    self.box = box
    self.formats = formats
    self.quality = quality
    self.frames = frames
  }

  /// Whether it is the picture as its origin sends it.
  package var isOriginal: Bool { self == PictureForm(layout: layout) }

  /// A size, and how a picture of other proportions is fitted into it; or only a part of the picture.
  package struct Box: Hashable, Sendable {
    /// The part that is cut out first; nil for the whole.
    package var area: Area?
    package var width: Int?
    package var height: Int?
    package var fit: Fit
    package var crop: Crop
    /// Whether a smaller picture is enlarged.
    package var enlarge: Bool
    /// Whether it is scaled in linear light.
    package var linear: Bool
    /// What lies behind a picture that is padded, or that loses its alpha.
    package var background: Background?
    /// The smallest sides of what is made of the whole picture; beyond `width` and `height`, it is cut.
    package var minWidth: Int?
    package var minHeight: Int?
    /// Times the picture's own size; nil where the box has a size.
    package var scale: Fraction?
    /// What is added on each side, after everything else.
    package var padding: Padding?
    /// Degrees by which the upright picture is turned clockwise before anything else.
    package var rotate = 0

    package init(
      width: Int?, height: Int?, fit: Fit = .contain, crop: Crop = .centre, enlarge: Bool = false, linear: Bool = false,
      area: Area? = nil, background: Background? = nil
    ) {
      self.area = area
      self.background = background
      self.width = width
      self.height = height
      self.fit = fit
      self.crop = crop
      self.enlarge = enlarge
      self.linear = linear
    }
  }
}

extension PictureForm.Box {
  /// Why some values make no box.
  package enum Problem {
    case noSide
    /// A side may be left open only where the picture is contained.
    case openSide
    /// A picture is cut only where it covers the box.
    case needlessCrop
    /// A box that has a size is not one that depends on the picture's.
    case needlessScale
  }

  /// What is wrong with a box for which `crop` was given; nil if nothing is.
  package func problem(crop: PictureForm.Crop?) -> Problem? {
    var rest = self
    (rest.crop, rest.enlarge, rest.linear) = (.centre, false, false)
    if rest == PictureForm.Box(width: nil, height: nil) { return .noSide }
    if scale != nil, width != nil || height != nil { return .needlessScale }
    if fit != .contain, width == nil || height == nil { return .openSide }
    return crop == nil || [.cover, .coverAlike, .coverDown].contains(fit) || minWidth != nil || minHeight != nil
      ? nil : .needlessCrop
  }
}

/// The sides of a size as people write it: `300x200`, `300x`, `x200`.
package enum SidesText {
  /// Both sides or one of them; nil for any other text, and where a side is out of range.
  package static func sides(of text: String, within range: ClosedRange<Int> = WireLimits.side) -> (
    width: Int?, height: Int?
  )? {
    let parts = text.utf8.split(separator: UInt8(ascii: "x"), omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let sides = parts.map { side(Substring($0), within: range) }
    guard parts[0].isEmpty || sides[0] != nil, parts[1].isEmpty || sides[1] != nil, sides[0] != nil || sides[1] != nil
    else { return nil }
    return (sides[0], sides[1])
  }

  private static func side(_ text: Substring, within range: ClosedRange<Int>) -> Int? {
    guard text.utf8.allSatisfy({ 48...57 ~= $0 }), let side = Int(text), range.contains(side) else { return nil }
    return side
  }
}
