/// One of the stored answers to a name, which depends on headers of its request.
package struct Variant: Sendable {
  /// The headers that it depends on; its `place` is not nil.
  package let vary: VaryOutcome
  /// The part of its key that is not its name.
  let variant: KeyVariant?
  /// Seconds since 1970.
  package let storedAt: Int64
  /// The number of the transfer that brought it; 0 if that was before this process began.
  package let serial: UInt64

  /// Nil for an image that is found under its own key alone.
  init?(_ image: CachedImage) {
    guard image.vary.place != nil else { return nil }
    (vary, variant) = (image.vary, image.variant)
    (storedAt, serial) = (image.storedAtWall, image.serial)
  }

  /// Nil for a record that makes no sense, or that is found under its own key alone.
  init?(_ record: StoredRecord) {
    guard let vary = VaryOutcome(record), vary.place != nil else { return nil }
    self.vary = vary
    variant = record.variant
    storedAt = record.storedAt
    serial = 0
  }

  /// Its key, completed from the key of its name.
  package func key(below base: CacheKey) -> CacheKey {
    variant == base.variant
      ? base : CacheKey(url: base.url, identifier: base.identifier, variant: variant, scope: base.scope)
  }

  /// Whether an image found under its key is still this answer: another one may have taken its place.
  package func isStill(_ image: CachedImage) -> Bool { vary.isFound(like: image.vary) }

  /// Whether a request with a name and nothing else may be shown it.
  package var fitsPlain: Bool { vary.fits(SentFields([])) }

  /// Whether it is newer than another: by their transfers in this process, and then by the times of storing.
  func isNewer(than other: Variant) -> Bool { (serial, storedAt) > (other.serial, other.storedAt) }

  /// The bytes that it really holds.
  var cost: Int { MemoryLayout<Variant>.stride + vary.cost }
}

extension CacheKey {
  /// The key of the name to which an image with this key may be one of several answers.
  package func base(owner: KeyVariant?) -> CacheKey {
    owner == variant ? self : CacheKey(url: url, identifier: identifier, variant: owner, scope: scope)
  }
}

extension CachedImage {
  /// The key of the name to which it is one of several answers; nil if it is found under its own key alone.
  package var base: CacheKey? { vary.place.map { key.base(owner: $0.owner) } }
}
