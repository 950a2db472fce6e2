internal import ImgdSystem

extension DiskTier {
  /// Removes what matches, or marks it stale; `then` is told how much when it is on disk too.
  ///
  /// From this call on nothing that matches is found: what is looked for meanwhile waits.
  package func purge(_ filter: PurgeFilter, soft: Bool, then: @escaping (Removal) -> Void) {
    guard isEnabled else { return then(.none) }
    guard state != .off else {
      guard purging > 0 else { return then(.none) }
      afterPurge.append { [unowned self] in purge(filter, soft: soft, then: then) }
      return
    }
    counts.purges += 1
    for store in stores.all.values
    where filter.matches(key: store.image.key, tags: store.image.tags) {
      store.isPurged = true
    }
    // What has been stored by then is found by the query.
    sendAllStores()
    if filter.matchesAll, !soft { return purgeAll(then) }
    let uses = takeUses()
    let query = IndexFilter(filter, wall: wall)
    let leases = currentLeases
    purging += 1
    order(
      { (writer) throws(DiskTrouble) in
        try writer.note(uses)
        return try writer.purge(query, soft: soft, leases: leases)
      },
      then: { [unowned self] matches in
        then(take(matches ?? [], soft: soft))
        if !soft { carryOut() }
        endPurge()
      })
  }

  private func purgeAll(_ then: @escaping (Removal) -> Void) {
    var removal = Removal()
    for place in Array(index.places) {
      let allocated = index.remove(place).allocated
      removal.count(allocated)
    }
    isLoaded = true
    let (wall, leases) = (self.wall, currentLeases)
    purging += 1
    order(
      { (writer) throws(DiskTrouble) in try writer.doomAll(leases: leases, at: wall) },
      then: { [unowned self] _ in
        then(removal)
        carryOutLater(after: limits.lease)
        endPurge()
      })
  }

  private var currentLeases: [UInt32: Int64] {
    let wall = self.wall
    return leases.filter { $0.value > wall }
  }

  /// When the last one has ended, what waited for it goes on.
  func endPurge() {
    purging -= 1
    guard purging == 0 else { return }
    let waiting = afterPurge
    afterPurge = []
    for action in waiting { action() }
  }

  private func take(_ matches: [IndexMatch], soft: Bool) -> Removal {
    var removal = Removal()
    for match in matches {
      removal.count(match.allocated)
      if !isLoaded { removedWhileLoading.insert(match.number) }
      let digest = KeyDigest(high: match.digestHigh, low: match.digestLow)
      guard let place = index.place(of: digest), index[place].number == match.number else {
        continue
      }
      if soft { index[place].freshUntil = 0 } else { index.remove(place) }
    }
    return removal
  }
}

extension IndexFilter {
  init(_ filter: PurgeFilter, wall: Int64) {
    self.init()
    url = filter.url?.text
    identifier = filter.identifier
    prefix = filter.prefix
    host = filter.host
    tag = filter.tag
    storedBefore = filter.olderThan.map { wall - $0.nanoseconds / 1_000_000_000 }
    usedBefore = filter.unusedFor.map { wall - $0.nanoseconds / 1_000_000_000 }
    staleAt = filter.expired ? wall : nil
  }
}
