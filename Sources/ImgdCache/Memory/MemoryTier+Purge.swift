package import ImgdSystem

extension MemoryTier {
  /// Removes every image that matches, or marks it stale, in one pass.
  ///
  /// An image may be on its way to another tier: only when it goes `fromAllTiers` it is not kept
  /// there either.
  package func purge(
    _ filter: PurgeFilter, soft: Bool = false, fromAllTiers: Bool = true, at now: Instant
  ) -> Removal {
    if filter.matchesAll, !soft {
      if fromAllTiers { for place in list.places { list[place].image?.isPurged = true } }
      return removeAll()
    }
    var removal = Removal()
    let urlTag = filter.url.map { tags(of: $0.text).url }
    for place in list.places {
      guard let image = list[place].image, urlTag == nil || urlTag == list[place].urlTag,
        filter.matches(image, at: now)
      else { continue }
      removal.count(list[place].cost)
      if soft {
        image.markStale()
      } else {
        if fromAllTiers { image.isPurged = true }
        take(place)
      }
    }
    sweepLog()
    counts.purges += 1
    return removal
  }
}
