/// What few keys have, apart from their URL.
final class KeyDistinction: Sendable {
  /// Not empty.
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

  /// Whether these are the parts of a key, which may have none of them.
  static func matches(
    _ own: KeyDistinction?, identifier: String?, variant: KeyVariant?, scope: CredentialScope?
  ) -> Bool {
    guard let own else { return identifier == nil && variant == nil && scope == nil }
    guard own.variant == variant, own.scope == scope else { return false }
    switch (own.identifier, identifier) {
    case (nil, nil): return true
    case (let own?, let other?): return sameBytes(own, other)
    default: return false
    }
  }
}
