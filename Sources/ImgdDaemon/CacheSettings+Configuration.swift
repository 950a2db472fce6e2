import ImgdCache
import ImgdSystem

// The tiers' limits as the operator set them.

extension MemoryTier.Limits {
  init(_ memory: Configuration.Memory) {
    self.init(
      capacity: memory.capacity, preferred: memory.preferred, entry: memory.maxEntryBytes)
  }
}

extension MemoryTier.Removal {
  /// One image, for an event that tells of it.
  init(of image: CachedImage) {
    self.init(entries: 1, bytes: image.payload.count)
  }
}

extension FreshnessDefaults {
  init(_ http: Configuration.HTTP) {
    self.init(
      silent: http.defaultFreshness.components.seconds,
      heuristicPercent: Int64(http.heuristicPercent))
  }
}
