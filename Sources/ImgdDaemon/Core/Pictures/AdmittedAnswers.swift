// The stored answers that a request may be shown.
//
// A request without credentials has one key, and what is stored there is for all. One with credentials has a key that
// is its user's alone, and beside it, as far as its credentials may be shared, the key without them: there it finds
// what the origin lets everybody have (`CredentialSharing`), no matter which user has fetched it.

import ImgdCache
import ImgdTransfer

extension MergeKey {
  /// The same request as one for what the origin lets everybody have; nil where its credentials do not allow that.
  var shared: MergeKey? {
    sharedKey.map { key in
      MergeKey(
        key: key, owner: owner, headers: headers.filter { !credentialNames.contains($0.name) },
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
  func key(keeping headers: HeaderList) -> CacheKey {
    guard let sharedKey, let sharing, sharing.admits(headers) else { return key }
    return sharedKey
  }

  private var sharing: CredentialSharing? { sharedKey == nil ? nil : CredentialSharing(credentialNames) }
}

/// Of two images that both fit, the one that came later (RFC 9111, 4).
func newer(_ one: CachedImage?, _ other: CachedImage?) -> CachedImage? {
  guard let one, let other else { return one ?? other }
  return (other.storedAt, other.serial) > (one.storedAt, one.serial) ? other : one
}
