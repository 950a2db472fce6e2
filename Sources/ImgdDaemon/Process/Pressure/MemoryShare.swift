import ImgdCache

/// How much of its capacity the memory tier may use.
enum MemoryShare: Int {
  case whole = 1
  case half = 2
  case quarter = 4

  /// What it grows to after a time without pressure.
  var grown: MemoryShare {
    self == .quarter ? .half : .whole
  }

  /// So much of an amount.
  func of(_ bytes: Int) -> Int { bytes / rawValue }
}

extension MemoryTier.Limits {
  /// The limits of a tier that is held to a share of its capacity.
  func held(to share: MemoryShare) -> MemoryTier.Limits {
    MemoryTier.Limits(
      capacity: share.of(capacity), preferred: share.of(preferred), maxEntry: maxEntry)
  }
}
