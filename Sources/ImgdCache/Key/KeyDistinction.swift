/// The parts of a key other than its URL, which few keys have.
final class KeyDistinction: Sendable {
  /// Not empty.
  let identifier: String?
  let variant: KeyVariant?
  let scope: CredentialScope?

  /// Nil when a key has nothing but a URL.
  init?(_ identifier: String?, _ variant: KeyVariant?, _ scope: CredentialScope?) {
    guard identifier != nil || variant != nil || scope != nil else { return nil }
    self.identifier = identifier
    self.variant = variant
    self.scope = scope
  }

  /// Whether a key's own parts, nil when it has none, are these.
  static func matches(_ own: KeyDistinction?, identifier: String?, variant: KeyVariant?, scope: CredentialScope?)
    -> Bool
  {
    guard let own else { return identifier == nil && variant == nil && scope == nil }
    guard own.variant == variant, own.scope == scope else { return false }
    switch (own.identifier, identifier) {
    case (nil, nil): return true
    case (let own?, let other?): return sameBytes(own, other)
    default: return false
    }
  }
}
