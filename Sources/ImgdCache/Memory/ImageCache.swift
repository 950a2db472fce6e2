package import ImgdSystem

/// Keeps images in memory, by key.
package protocol ImageCache: AnyObject {
  /// Keeps an image under its own key, in place of what was there.
  func add(_ image: CachedImage, at now: Instant) -> StoreAnswer
  /// Removes an image; nil when there was none.
  func remove(_ key: CacheKey) -> CachedImage?
  /// Removes every image.
  func removeAll() -> Removal
  /// The image under a key, fresh or not. Counts as a use.
  func image(for key: CacheKey, at now: Instant) -> CachedImage?
}

/// An image cache that requests ask, with a URL and an additional identifier instead of a key.
package protocol ImageRequestCache: ImageCache {
  /// Why an image should not be kept; nil when it should.
  func shouldCache(_ image: CachedImage) -> StoreRefusal?
  /// The image for a request that names a canonical URL and an identifier and nothing else, if it
  /// can be shown at once, because it is fresh.
  ///
  /// Counts as a use when there is one. Who gets nil goes on with the key, and is counted there.
  func readyImage(for url: String, identifier: String?, at now: Instant) -> CachedImage?
}
