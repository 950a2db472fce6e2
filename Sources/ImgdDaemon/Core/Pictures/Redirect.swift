import ImgdCache

/// An origin's statement that what was asked for is found under another URL.
struct Redirect {
  /// The absolute URL.
  let target: String
  /// Whether a public address has sent it: then it must not lead to a private one.
  let isFromPublicAddress: Bool
}

extension CachedImage {
  /// The redirect that the answer is.
  var redirect: Redirect? {
    response.redirectTarget.map { Redirect(target: $0, isFromPublicAddress: isFromPublicAddress) }
  }
}
