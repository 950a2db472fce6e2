import ImgdCache
import ImgdSystem

// The tiers' limits as the operator set them.

extension MemoryTier.Limits {
  init(_ memory: Configuration.Memory) {
    self.init(
      capacity: memory.capacity, preferred: memory.preferred, maxEntry: memory.maxEntryBytes)
  }
}

extension FreshnessRules {
  init(_ http: Configuration.HTTP) {
    self.init(defaultLifetime: http.defaultFreshness, heuristicPercent: http.heuristicPercent)
  }
}
