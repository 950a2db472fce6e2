/// The name that an image is stored under: a URL, and whatever else tells images of that URL apart.
///
/// The parts are never run together: (`…/a`, `bc`) is not (`…/ab`, `c`).
package struct CacheKey: Hashable, Sendable {
  package let url: CanonicalURL
  let distinction: KeyDistinction?
  /// The name of its files; nil with credentials, since nothing fetched with them is ever written to disk.
  package let digest: KeyDigest?

  package init(url: CanonicalURL, identifier: String? = nil, variant: KeyVariant? = nil, scope: CredentialScope? = nil)
  {
    let identifier = identifier == "" ? nil : identifier
    self.url = url
    distinction = KeyDistinction(identifier, variant, scope)
    digest = scope == nil ? KeyDigest(url: url.text, identifier: identifier, variant: variant) : nil
  }

  /// A public key whose digest has been computed before.
  package init(url: CanonicalURL, identifier: String?, variant: KeyVariant? = nil, knownDigest: KeyDigest) {
    self.url = url
    distinction = KeyDistinction(identifier == "" ? nil : identifier, variant, nil)
    digest = knownDigest
  }

  /// The key of an image, from parts that were taken from a key before.
  init(url: CanonicalURL, _ distinction: KeyDistinction?, _ digest: KeyDigest?) {
    self.url = url
    self.distinction = distinction
    self.digest = digest
  }

  /// The additional identifier; the empty one is the same as none.
  package var identifier: String? { distinction?.identifier }
  /// What sets the request apart from a plain one for the URL; nil for a plain one.
  package var variant: KeyVariant? { distinction?.variant }
  /// The user and the credentials that the image was fetched with; nil for a public one.
  package var scope: CredentialScope? { distinction?.scope }

  // Bytes decide: an identifier in another Unicode spelling is another identifier.

  package static func == (left: CacheKey, right: CacheKey) -> Bool {
    left.url == right.url
      && KeyDistinction.matches(
        left.distinction, identifier: right.identifier, variant: right.variant, scope: right.scope)
  }

  /// By bytes, as keys are compared.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    if let identifier { hashBytes(of: identifier, into: &hasher) }
    hasher.combine(variant)
    hasher.combine(scope)
  }
}

extension CacheKey {
  /// The key of something that was made of the picture under this key. It depends on the picture's bytes, so
  /// other bytes under this key never lead to it.
  package func made(of checksum: BodyChecksum, form: String) -> CacheKey {
    CacheKey(url: url, identifier: identifier, variant: KeyVariant(of: variant, checksum, form: form), scope: scope)
  }

  package var cost: Int { url.text.utf8.count + (identifier?.utf8.count ?? 0) }
}
