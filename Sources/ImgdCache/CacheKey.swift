/// What identifies a cached image; its parts stay apart, so that none runs into the next.
package struct CacheKey: Hashable, Sendable {
  /// The canonical URL.
  package let url: String
  /// The seeds' additional identifier; an empty one is none.
  package let identifier: String?
  /// Whose credentials the image was fetched with; nil when it is everybody's.
  package let scope: CredentialScope?

  package init(url: CanonicalURL, identifier: String? = nil, scope: CredentialScope? = nil) {
    self.init(canonical: url.text, identifier: identifier, scope: scope)
  }

  init(canonical url: String, identifier: String?, scope: CredentialScope? = nil) {
    self.url = url
    self.identifier = identifier?.isEmpty == true ? nil : identifier
    self.scope = scope
  }
}

/// A user together with the credentials that a request of theirs carried.
///
/// It holds the values themselves: it lives in memory only, and a digest could collide.
package struct CredentialScope: Hashable, Sendable {
  package let uid: UInt32
  private let credentials: [String]

  package init(uid: UInt32, credentials: [String]) {
    self.uid = uid
    self.credentials = credentials
  }
}
