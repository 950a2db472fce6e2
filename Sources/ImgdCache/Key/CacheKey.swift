/// The name that an image is stored under: a URL, and what makes another image of the same URL.
///
/// The parts are never run together: (`…/a`, `bc`) is not (`…/ab`, `c`).
package struct CacheKey: Hashable, Sendable {
  /// What few keys have, apart from them: every picture in memory has a key.
  private final class Distinction: Sendable {
    let identifier: String?
    let variant: KeyVariant?
    let scope: CredentialScope?

    /// Nil where there is nothing but a URL.
    init?(_ identifier: String?, _ variant: KeyVariant?, _ scope: CredentialScope?) {
      guard identifier != nil || variant != nil || scope != nil else { return nil }
      self.identifier = identifier
      self.variant = variant
      self.scope = scope
    }
  }

  package let url: CanonicalURL
  private let distinction: Distinction?
  /// The name of its files; nil with credentials, as nothing of theirs is ever written.
  package let digest: KeyDigest?

  package init(
    url: CanonicalURL, identifier: String? = nil, variant: KeyVariant? = nil,
    scope: CredentialScope? = nil
  ) {
    let identifier = identifier == "" ? nil : identifier
    self.url = url
    distinction = Distinction(identifier, variant, scope)
    digest =
      scope == nil ? KeyDigest(url: url.text, identifier: identifier, variant: variant) : nil
  }

  /// A public key whose digest has been computed before.
  package init(
    url: CanonicalURL, identifier: String?, variant: KeyVariant? = nil, knownDigest: KeyDigest
  ) {
    self.url = url
    distinction = Distinction(identifier == "" ? nil : identifier, variant, nil)
    digest = knownDigest
  }

  /// The additional identifier; the empty one is the same as none.
  package var identifier: String? { distinction?.identifier }
  /// What sets the request apart from a plain one for the URL; nil for a plain one.
  package var variant: KeyVariant? { distinction?.variant }
  /// The user and the credentials that the image was fetched with; nil for a public one.
  package var scope: CredentialScope? { distinction?.scope }

  // Bytes decide: an identifier in another Unicode spelling is another identifier.

  package static func == (left: CacheKey, right: CacheKey) -> Bool {
    left.matches(
      right.url.text, identifier: right.identifier, variant: right.variant, scope: right.scope)
  }

  /// By bytes, as keys are compared.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    if let identifier { hashBytes(of: identifier, into: &hasher) }
    hasher.combine(variant)
    hasher.combine(scope)
  }

  /// Whether it is that of a URL and nothing else.
  func isPlain(_ url: Span<UInt8>) -> Bool {
    identifier == nil && variant == nil && scope == nil && sameBytes(self.url.text.utf8.span, url)
  }

  /// Compares with the parts of a key that have not been put together; `identifier` is not empty.
  func matches(
    _ url: String, identifier: String?, variant: KeyVariant?, scope: CredentialScope?
  ) -> Bool {
    guard sameBytes(self.url.text, url) else { return false }
    guard let own = distinction else {
      return identifier == nil && variant == nil && scope == nil
    }
    guard own.variant == variant, own.scope == scope else { return false }
    switch (own.identifier, identifier) {
    case (nil, nil): return true
    case (let own?, let other?): return sameBytes(own, other)
    default: return false
    }
  }
}
