import ImgdCache

/// An origin's word that what was asked for is to be had under another URL.
struct Redirect {
  /// Absolute.
  let target: String
  /// Whether a public address has sent it: then it must not lead to a private one.
  let isFromPublicAddress: Bool
}

extension CachedImage {
  /// The redirect that the answer is.
  var redirect: Redirect? {
    response.redirectTarget.map {
      Redirect(target: $0, isFromPublicAddress: isFromPublicAddress)
    }
  }
}
