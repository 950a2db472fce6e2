/// Another size of a picture.
public struct Resize: Hashable, Sendable {
  /// How a picture of other proportions goes into the size.
  public enum Fit: String, CaseIterable, Sendable {
    /// As large as fits inside.
    case contain
    /// As small as covers it; what overflows is cut off.
    case cover
    /// Stretched.
    case fill
  }

  /// The part that `cover` keeps.
  public enum Crop: String, CaseIterable, Sendable {
    case centre
    /// The part that draws the eye.
    case attention
  }

  /// The size in pixels; `contain` needs one of the two.
  public var width: Int?
  public var height: Int?
  /// How a picture of other proportions goes into the size.
  public var fit: Fit
  /// The part that `cover` keeps.
  public var crop: Crop
  /// Whether a smaller picture is enlarged.
  public var enlarge: Bool
  /// Whether colours are mixed in linear light.
  public var linear: Bool

  /// At least one of width and height is needed, and both to cover or to fill.
  public init(
    width: Int? = nil, height: Int? = nil, fit: Fit = .contain, crop: Crop = .centre, enlarge: Bool = false,
    linear: Bool = false
  ) {
    self.width = width
    self.height = height
    self.fit = fit
    self.crop = crop
    self.enlarge = enlarge
    self.linear = linear
  }
}
