/// One of the stored answers to a name that depend on headers of their requests.
package struct Variant: Sendable {
  /// What it depends on; it has a place.
  package let vary: VaryOutcome
  /// The part of its key that is not its name.
  let variant: KeyVariant?
  /// Seconds since 1970.
  package let storedAt: Int64
  /// The number of the transfer that brought it; nought for one that was made before this process began.
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

  /// Its key, below that of its name.
  package func key(below base: CacheKey) -> CacheKey {
    variant == base.variant
      ? base
      : CacheKey(
        url: base.url, identifier: base.identifier, variant: variant, scope: base.scope)
  }

  /// Whether it is what an image is now: another answer may have got under its key.
  package func isStill(_ image: CachedImage) -> Bool { vary.isFound(like: image.vary) }

  /// Whether a request with a name and nothing else may be shown it.
  package var fitsPlain: Bool { vary.fits(SentFields([])) }

  /// Whether it was stored later than another: by the transfers, as far as they were of this process.
  func isNewer(than other: Variant) -> Bool {
    (serial, storedAt) > (other.serial, other.storedAt)
  }

  /// The bytes that it really holds.
  var cost: Int { MemoryLayout<Variant>.stride + vary.cost }
}

extension CacheKey {
  /// The key of the name alone under which an image with this key may be an alternative.
  package func base(owner: KeyVariant?) -> CacheKey {
    owner == variant
      ? self : CacheKey(url: url, identifier: identifier, variant: owner, scope: scope)
  }
}

extension CachedImage {
  /// The key of the name under which it is one of several; nil for one that is found under its own key alone.
  package var base: CacheKey? { vary.place.map { key.base(owner: $0.owner) } }
}
