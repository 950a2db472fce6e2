/// A picture as a request asks for it, whichever form its target has.
package struct PictureRequest: Equatable, Sendable {
  /// The shape of the protocol's `resize`.
  package enum Fit: String, Sendable, CaseIterable {
    case contain, cover, fill
  }

  /// The part of a picture that stays where it is cut.
  package enum Crop: String, Sendable, CaseIterable {
    case centre, attention
  }

  /// The encoding in which it is sent.
  package enum Format: String, Sendable, CaseIterable {
    case original, jpeg, png, webp, avif
    /// AVIF or WebP, whichever the client takes.
    case auto
  }

  package var url: String
  package var width: Int?
  package var height: Int?
  package var fit = Fit.contain
  package var crop = Crop.centre
  package var enlarge = false
  package var format = Format.original
  package var quality: Int?
  /// The end of the target, in seconds since 1970: no cache may answer it later.
  package var expires: Int?

  package init(url: String) {
    self.url = url
  }
}
