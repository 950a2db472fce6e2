import ImgdCache
import ImgdTransfer
import ImgdWire

/// The identity of a transfer: requests that agree in it may share one, if their policy allows it.
///
/// Keys are compared byte by byte. Headers may have 60 KB, so they are hashed once, and not at each search. A key is an
/// object since it is handed on many times, and nothing of it changes.
final class MergeKey: Hashable, Sendable {
  let key: CacheKey
  /// The variant of the key without the headers: its user, for an identifier or where users share nothing.
  let owner: KeyVariant?
  /// Extra request headers, by lower-case name: an origin may answer differently to each set.
  let headers: [HeaderField]
  /// Headers by which somebody follows a request through programs. They are sent, and are no part of the identity.
  let tracing: [HeaderField]
  /// No key has these in it either.
  private static let tracingNames: Set<String> = ["traceparent", "tracestate", "x-request-id", "x-correlation-id"]
  /// The names of those that are credentials, which no other origin may see.
  let credentialNames: Set<String>
  /// Whether a public address has redirected here: then the request, unlike others, may go to public ones only.
  let isAfterPublic: Bool
  /// The key of an answer that the origin lets everybody have, for a request whose credentials allow that.
  let sharedKey: CacheKey?
  private let headersHash: Int

  init(
    key: CacheKey, owner: KeyVariant?, headers: [HeaderField], tracing: [HeaderField] = [],
    credentialNames: Set<String> = [], isAfterPublic: Bool = false
  ) {
    self.tracing = tracing
    self.key = key
    self.owner = owner
    self.headers = headers
    self.credentialNames = credentialNames
    self.isAfterPublic = isAfterPublic
    sharedKey =
      key.scope == nil || CredentialSharing(credentialNames) == nil
      ? nil : CacheKey(url: key.url, identifier: key.identifier, variant: key.variant)
    headersHash = headers.isEmpty ? 0 : Self.hash(of: headers)
  }

  private static func hash(of headers: [HeaderField]) -> Int {
    var hasher = Hasher()
    for header in headers {
      hashBytes(of: header.name, into: &hasher)
      hashBytes(of: header.value, into: &hasher)
    }
    return hasher.finalize()
  }

  static func == (left: MergeKey, right: MergeKey) -> Bool {
    if left === right { return true }
    return left.headersHash == right.headersHash && left.key == right.key
      && left.credentialNames == right.credentialNames && left.isAfterPublic == right.isAfterPublic
      && left.headers.elementsEqual(right.headers) { sameBytes($0.name, $1.name) && sameBytes($0.value, $1.value) }
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(key)
    hasher.combine(headersHash)
  }

  /// Whether the client asks under a condition of its own: then a 304 says nothing about what is cached.
  var hasCondition: Bool { headers.contains { Self.isCondition($0.name) } }

  private static func isCondition(_ name: String) -> Bool { name.hasPrefix("if-") }

  /// The key without the client's own conditions: for a request that is about what is cached.
  var unconditional: MergeKey {
    guard hasCondition else { return self }
    return MergeKey(
      key: key, owner: owner, headers: headers.filter { !Self.isCondition($0.name) }, tracing: tracing,
      credentialNames: credentialNames, isAfterPublic: isAfterPublic)
  }

  /// The headers that the clients sent along.
  var sent: HeaderList { headers.map { ($0.name, $0.value) } }

  /// The headers as `Vary` compares them.
  var fields: SentFields { SentFields(sent, credentials: credentialNames) }

  /// The key of the name alone, to which there may be several answers.
  var base: CacheKey { key.base(owner: owner) }
}

extension MergeKey {
  /// The identity of a request that is not plain, or whose picture is not known to be there.
  ///
  /// `digest` belongs to the key, where it has been computed.
  convenience init(
    _ request: FetchRequest, _ url: CanonicalURL, uid: UInt32, isOwn: Bool = false, credentials: CredentialNames,
    digest: KeyDigest?
  ) {
    let all = request.headers.map { HeaderField($0.name.lowercased(), $0.value) }.sorted { $0.name < $1.name }
    let headers = all.filter { !Self.tracingNames.contains($0.name) }
    let tracing = headers.count < all.count ? all.filter { Self.tracingNames.contains($0.name) } : []
    let names = Set(headers.map { $0.name }.filter(credentials.contains))
    let parts = KeyParts(headers, names, identifier: request.identifier, uid: uid, isOwn: isOwn)
    let key =
      if let digest, headers.isEmpty {
        CacheKey(url: url, identifier: request.identifier, variant: parts.variant, knownDigest: digest)
      } else { CacheKey(url: url, identifier: request.identifier, variant: parts.variant, scope: parts.scope) }
    let owner = KeyVariant(identifier: request.identifier, uid: uid, isOwn: isOwn)
    self.init(key: key, owner: owner, headers: headers, tracing: tracing, credentialNames: names)
  }

  /// The same request for what is under another key, which is one user's alone.
  func moved(to key: CacheKey) -> MergeKey {
    MergeKey(key: key, owner: key.variant, headers: headers, tracing: tracing)
  }

  /// Whether nobody but its user is shown the answer, though it names nothing that says so.
  var isOwn: Bool { owner != nil && key.identifier == nil }

  /// The headers for another origin: it gets no credentials, and need not know the page of the first one.
  var headersForOthers: [HeaderField] { headers.filter { !credentialNames.contains($0.name) && $0.name != "referer" } }

  /// The same request for the URL that a redirect leads to. If another origin redirects back, the credentials do not
  /// return.
  func redirected(to target: CanonicalURL, by redirect: Redirect, uid: UInt32) -> MergeKey {
    let isSameOrigin = target.hasSameOrigin(as: key.url)
    let headers = isSameOrigin ? self.headers : headersForOthers
    let names = isSameOrigin ? credentialNames : []
    let parts = KeyParts(headers, names, identifier: key.identifier, uid: uid, isOwn: isOwn)
    return MergeKey(
      key: CacheKey(url: target, identifier: key.identifier, variant: parts.variant, scope: parts.scope), owner: owner,
      headers: headers, tracing: tracing, credentialNames: names,
      isAfterPublic: isAfterPublic || redirect.isFromPublicAddress)
  }
}

/// The parts of a key that come from header fields.
private struct KeyParts {
  let variant: KeyVariant?
  let scope: CredentialScope?

  init(_ headers: [HeaderField], _ credentialNames: Set<String>, identifier: String?, uid: UInt32, isOwn: Bool) {
    let secrets = headers.filter { credentialNames.contains($0.name) }.map { ($0.name, $0.value) }
    let others = headers.filter { !credentialNames.contains($0.name) }.map { ($0.name, $0.value) }
    variant = KeyVariant(identifier: identifier, fields: others, uid: uid, isOwn: isOwn)
    scope = secrets.isEmpty ? nil : CredentialScope(uid: uid, credentials: secrets)
  }
}

// The stored answers that a request may be shown.
//
// A request without credentials has one key, and what is stored there is for all. One with credentials has a key that
// is its user's alone, and beside it, as far as its credentials may be shared, the key without them: there it finds
// what the origin lets everybody have (`CredentialSharing`), no matter which user has fetched it.

extension MergeKey {
  /// The same request as one for what the origin lets everybody have; nil where its credentials do not allow that.
  var shared: MergeKey? {
    sharedKey.map { key in
      MergeKey(
        key: key, owner: owner, headers: headers.filter { !credentialNames.contains($0.name) }, tracing: tracing,
        isAfterPublic: isAfterPublic)
    }
  }

  /// Whether a request with this key may be shown an image that is stored under one of its keys.
  func admits(_ image: CachedImage) -> Bool {
    guard image.isFor(sent: sent) else { return false }
    guard let sharing, image.key.scope == nil else { return true }
    return sharing.admits(image.response.headers.list)
  }

  /// The key under which an answer is kept.
  func key(keeping headers: @autoclosure () -> HeaderList) -> CacheKey {
    guard let sharedKey, let sharing, sharing.admits(headers()) else { return key }
    return sharedKey
  }

  private var sharing: CredentialSharing? { sharedKey == nil ? nil : CredentialSharing(credentialNames) }
}

/// Of two images that both fit, the one that came later (RFC 9111, 4).
func newer(_ one: CachedImage?, _ other: CachedImage?) -> CachedImage? {
  guard let one, let other else { return one ?? other }
  return (other.storedAt, other.serial) > (one.storedAt, one.serial) ? other : one
}

/// The names of request headers that are credentials: what they open belongs to the user who sent them.
///
/// The standard has two, and services invent their own: a name that looks like one counts. Taken wrongly for one, a
/// header costs a place on disk; not taken for one, it would show a user's pictures to all.
struct CredentialNames {
  private static let standard: Set<String> = ["authorization", "cookie"]
  private static let endings = ["key", "token", "secret"]

  /// Names that the operator adds, in lower case.
  private let further: Set<String>

  init(_ http: Configuration.HTTP) { further = Set(http.credentialFields) }

  /// Whether a lower-case name is one of them.
  func contains(_ name: String) -> Bool {
    Self.standard.contains(name) || further.contains(name) || name.hasPrefix("proxy-") || name.contains("auth")
      || Self.endings.contains { name.hasSuffix($0) }
  }
}

/// An origin's statement that what was asked for is found under another URL.
struct Redirect {
  /// The absolute URL.
  let target: String
  /// Whether a public address has sent it: then it must not lead to a private one.
  let isFromPublicAddress: Bool
}

extension CachedImage {
  var redirect: Redirect? {
    response.redirectTarget.map { Redirect(target: $0, isFromPublicAddress: isFromPublicAddress) }
  }
}
