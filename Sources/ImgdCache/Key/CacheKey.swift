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

  /// By the digest, or by bytes, as keys are compared: no URL is hashed twice.
  package func hash(into hasher: inout Hasher) {
    if let digest { return hasher.combine(digest) }
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

  /// The user whom alone it is for, under a URL and nothing else.
  package var soleUser: UInt32? {
    guard identifier == nil, let variant, variant.isOfUser else { return nil }
    return UInt32(variant.low)
  }

  package var cost: Int { url.text.utf8.count + (identifier?.utf8.count ?? 0) }
}

/// The parts of a key other than its URL, which few keys have.
final class KeyDistinction: Sendable {
  /// Not empty.
  let identifier: String?
  let variant: KeyVariant?
  let scope: CredentialScope?

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

/// Tells the requests for one URL apart: by the header fields that may change the answer, and, where there
/// is an identifier, which clients choose, also by its user.
///
/// An origin may answer such a request with another picture, and need not say so in `Vary`. If that picture
/// were kept under the URL alone, any client could choose what all the others are shown. The digest
/// has 128 bits, so nobody can find fields that lead to another client's entry; files are named
/// after it, so its form never changes within one layout of the directory.
package struct KeyVariant: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Nil for a request that names nothing but a URL, which is nearly every one.
  ///
  /// `fields` are the request's header fields, under lower-case names, without its credentials. Without
  /// fields, the user stands for itself: a hit with an identifier then costs no digest. `isOwn` says that nobody else is
  /// shown the answer, whatever the request names.
  package init?(identifier: String?, fields: HeaderList = [], uid: UInt32, isOwn: Bool = false) {
    let hasIdentifier = isOwn || identifier?.isEmpty == false
    guard hasIdentifier || !fields.isEmpty else { return nil }
    let telling = fields.isEmpty ? [] : fields.filter { !Self.isHarmless($0.name) }
    guard !telling.isEmpty else {
      guard hasIdentifier else { return nil }
      self.init(of: uid)
      return
    }
    var parts: [UInt8] = []
    appendPart(hasIdentifier ? String(uid) : "", to: &parts)
    for (name, value) in telling.sorted(by: { $0.name < $1.name }) {
      appendPart(name, to: &parts)
      appendPart(normalisedFieldValue(value), to: &parts)
    }
    let digest = Digest128(of: parts.span)
    self.init(high: digest.high, low: digest.low)
  }

  /// The variant of what is one user's alone.
  package init(of uid: UInt32) { self.init(high: 0, low: UInt64(uid)) }

  var isOfUser: Bool { high == 0 && low < 1 << 32 }

  /// The variant of a picture that is handed in: a request that names its URL has another key.
  package static let handedIn = KeyVariant(high: 0, low: 1 << 32)

  /// The variant of something that was made of a picture, from the picture's own variant, the checksum of its
  /// bytes, and the form that was made of them.
  init(of original: KeyVariant?, _ checksum: BodyChecksum, form: String) {
    var parts: [UInt8] = []
    appendPart("made", to: &parts)
    for number in [original?.high ?? 0, original?.low ?? 0, checksum.value] { parts.appendHex(number, digits: 16) }
    parts.append(original == nil ? 0 : 1)
    appendPart(form, to: &parts)
    let digest = Digest128(of: parts.span)
    self.init(high: digest.high, low: digest.low)
  }

  /// Fields that tell an origin nothing that a picture may depend on. No other field is harmless: each origin
  /// may give it a meaning of its own.
  private static let harmless: Set<String> = [
    "cache-control", "pragma", "dnt", "sec-gpc", "priority", "traceparent", "tracestate", "x-request-id",
    "x-correlation-id",
    // Conditions: the answer to them is the same picture, or none at all.
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
  ]

  func hash(into hasher: inout KeyHasher) {
    hasher.combine(high)
    hasher.combine(low)
  }

  static func isHarmless(_ name: String) -> Bool { harmless.contains(name) }
}

/// Separates what was fetched with credentials: by user, and by the credentials themselves.
///
/// The credentials are not kept, only a digest of 128 bits under a secret that this process drew.
package struct CredentialScope: Hashable, Sendable {
  private static let secrets = (KeyHasher.randomSeed(), KeyHasher.randomSeed())

  package let uid: UInt32
  private let digest: (UInt64, UInt64)

  /// `credentials` are the values of Authorization and Cookie, under lower-case names.
  package init(uid: UInt32, credentials: HeaderList) {
    self.uid = uid
    digest = (Self.digest(of: credentials, seed: Self.secrets.0), Self.digest(of: credentials, seed: Self.secrets.1))
  }

  private static func digest(of credentials: HeaderList, seed: KeyHasher.Seed) -> UInt64 {
    var hasher = KeyHasher(seed)
    for (name, value) in credentials.sorted(by: { ($0.name, $0.value) < ($1.name, $1.value) }) {
      hasher.combine(name)
      hasher.combine(value)
    }
    return hasher.finish()
  }

  package static func == (left: CredentialScope, right: CredentialScope) -> Bool {
    left.uid == right.uid && left.digest == right.digest
  }

  /// The digest is a hash already.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(uid)
    hasher.combine(digest.0)
  }

  func hash(into hasher: inout KeyHasher) {
    hasher.combine(digest.0)
    hasher.combine(UInt64(uid))
  }
}
