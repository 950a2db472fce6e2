// The seeds' protocols. What they ask of a cache has not changed: add, remove, remove all, find,
// and a say in what is kept at all.

/// A cache of images by key.
package protocol ImageCache {
  /// Keeps an image, in place of an earlier one under its key; says whether it did.
  func add(_ image: CachedImage) -> MemoryTier.Added
  /// Lets go of an image; whether there was one.
  func remove(_ key: CacheKey) -> Bool
  /// Lets go of everything.
  func removeAll() -> MemoryTier.Removal
  /// Finds an image, which counts as a use of it.
  func image(for key: CacheKey) -> CachedImage?
}

/// A cache of images by request: a URL together with an additional identifier.
package protocol ImageRequestCache: ImageCache {
  /// Whether an image is to be kept at all, and if not, why.
  func shouldCache(_ image: CachedImage) -> MemoryTier.Refusal?
}
