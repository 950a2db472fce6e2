import ImgdSystem

@testable import ImgdCache

extension MemoryTier {
  /// A purge of memory, with the whole of its sweep.
  func purge(_ filter: PurgeFilter, soft: Bool = false, at now: Instant) -> Removal {
    let row = purges.add(filter, isSoft: soft, from: .memory, at: now)
    var sweep = beginSweep(after: row)
    while goOn(with: &sweep) {}
    purges.endSweep(after: row)
    return sweep.removal
  }

  /// The removal of everything.
  func removeAll() -> Removal {
    var sweep = beginRemoval()
    while goOn(with: &sweep) {}
    return sweep.removal
  }
}
