import ImgdSystem

@testable import ImgdCache

extension MemoryTier {
  /// A purge with all its parts.
  func purge(
    _ filter: PurgeFilter, soft: Bool = false, fromAllTiers: Bool = true, at now: Instant
  ) -> Removal {
    var purge = beginPurge(filter, soft: soft, fromAllTiers: fromAllTiers)
    while goOn(with: &purge, at: now) {}
    return purge.removal
  }

  /// A purge of everything that does not keep pictures out of other tiers.
  func removeAll() -> Removal {
    purge(PurgeFilter(), fromAllTiers: false, at: Instant(nanoseconds: 0))
  }
}
