import ImgdCache
import ImgdSystem

// The operator's settings, in the types of the cache.

extension MemoryTier.Limits {
  init(_ memory: Configuration.Memory) {
    self.init(
      capacity: memory.capacity, preferred: memory.preferred, maxEntry: memory.maxEntryBytes)
  }
}

extension DiskTier.Limits {
  init(_ disk: Configuration.Disk) {
    let minFree: DiskTier.MinFree =
      switch disk.minFree {
      case .bytes(let bytes): .bytes(bytes)
      case .percent(let percent): .percent(percent)
      }
    self.init(
      capacity: disk.capacity, trimToPercent: disk.trimToPercent,
      maxAge: disk.maxAge > .zero ? disk.maxAge : nil, minFree: minFree, lease: disk.lease)
  }
}

extension PressureRequest {
  init(_ memory: Configuration.Memory, _ environment: SystemdEnvironment) {
    self.init(
      isWanted: memory.pressure == .auto, watch: environment.pressureWatch,
      write: environment.pressureWrite)
  }
}

extension FreshnessRules {
  init(_ http: Configuration.HTTP) {
    self.init(
      defaultLifetime: http.defaultFreshness, heuristicPercent: http.heuristicPercent,
      staleIfError: http.staleIfError)
  }
}
