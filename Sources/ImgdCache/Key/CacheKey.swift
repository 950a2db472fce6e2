/// What an image is stored under: a URL, and what makes another image of the same URL.
///
/// The parts are never run together: (`…/a`, `bc`) is not (`…/ab`, `c`).
package struct CacheKey: Hashable, Sendable {
  package let url: CanonicalURL
  /// The additional identifier; the empty one is the same as none.
  package let identifier: String?
  /// Whose credentials the image was fetched with; nil for what everybody may see.
  package let scope: CredentialScope?

  package init(url: CanonicalURL, identifier: String? = nil, scope: CredentialScope? = nil) {
    self.url = url
    self.identifier = identifier == "" ? nil : identifier
    self.scope = scope
  }

  // Bytes decide: an identifier in another Unicode spelling is another identifier.

  package static func == (left: CacheKey, right: CacheKey) -> Bool {
    left.matches(right.url.text, identifier: right.identifier, scope: right.scope)
  }

  /// By bytes, as keys are compared.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    if let identifier { hashBytes(of: identifier, into: &hasher) }
    hasher.combine(scope)
  }

  /// Compares with the parts of a key that nobody has put together; `identifier` is not empty.
  func matches(_ url: String, identifier: String?, scope: CredentialScope?) -> Bool {
    guard sameBytes(self.url.text, url), self.scope == scope else { return false }
    switch (self.identifier, identifier) {
    case (nil, nil): return true
    case (let own?, let other?): return sameBytes(own, other)
    default: return false
    }
  }
}
