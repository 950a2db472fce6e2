internal import ImgdSystem

extension DiskTier {
  /// Why entries go.
  enum Departure {
    case eviction, purge
    /// Their file is not there, or not whole.
    case loss
  }

  /// Takes entries out, here at once and on disk behind.
  func remove(_ places: [Int], as departure: Departure, urgently: Bool = false) {
    guard !places.isEmpty else { return }
    var removal = Removal()
    var numbers: [UInt32] = []
    for place in places {
      let entry = index.remove(place)
      removal.count(entry.allocated)
      numbers.append(entry.number)
      if !isLoaded { removedWhileLoading.insert(entry.number) }
    }
    if departure == .eviction {
      counts.evictions += removal.entries
      counts.evictedBytes += removal.bytes
      onNews(.evicted(removal))
    }
    doom(numbers, urgently: urgently || departure == .purge)
  }

  /// So many rows and files at a time, so that a picture never waits long for the writer.
  private static let mostAtOnce = 64

  /// One part after the other: what is stored meanwhile comes in between. Where room is wanted for
  /// what comes next, all go before it.
  private func doom(_ numbers: [UInt32], urgently: Bool) {
    if numbers.contains(where: { isLeased($0) }) { carryOutLater(after: limits.lease) }
    toDoom.append(contentsOf: numbers)
    guard !urgently else { return doomAllParts() }
    if !isDooming { doomPart() }
  }

  private func doomPart() {
    guard !toDoom.isEmpty else { return }
    isDooming = true
    orderPart { [unowned self] in
      isDooming = false
      doomPart()
    }
  }

  /// For who wants to come after everything that goes.
  func doomAllParts() {
    while !toDoom.isEmpty { orderPart {} }
  }

  private func orderPart(then: @escaping () -> Void) {
    let wall = self.wall
    let part = Array(toDoom.suffix(Self.mostAtOnce))
    toDoom.removeLast(part.count)
    var promised: [UInt32: Int64] = [:]
    for number in part where isLeased(number) { promised[number] = leases[number] }
    let leases = promised
    order(
      { (writer) throws(DiskTrouble) in try writer.doom(part, leases: leases, at: wall) },
      then: { _ in then() })
  }

  private func isLeased(_ number: UInt32) -> Bool { leases[number] ?? 0 > wall }

  /// Removes the image under a key, if there is one.
  package func remove(_ key: CacheKey) {
    guard isEnabled, key.scope == nil else { return }
    let digest = KeyDigest(url: key.url.text, identifier: key.identifier)
    if let place = index.place(of: digest) { remove([place], as: .purge) }
    for store in stores.all.values where store.image.key == key { store.image.isPurged = true }
    guard !isLoaded else { return }
    // The file may know of an entry that memory does not know yet.
    var filter = PurgeFilter()
    filter.url = key.url
    filter.identifier = key.identifier ?? ""
    purge(filter, soft: false) { _ in }
  }

  // MARK: Purging

  /// Removes what matches, or marks it stale; `then` is told how much when it is on disk too.
  ///
  /// From this call on nothing that matches is found: what is looked for meanwhile waits.
  package func purge(_ filter: PurgeFilter, soft: Bool, then: @escaping (Removal) -> Void) {
    guard isEnabled else { return then(.none) }
    guard state != .off else {
      guard purging > 0 else {
        dropStores(matching: filter)
        owe(OwedPurge(filter: filter, soft: soft))
        return then(.none)
      }
      afterPurge.append { [unowned self] in purge(filter, soft: soft, then: then) }
      return
    }
    counts.purges += 1
    dropStores(matching: filter)
    // What has been stored by then is found by the query.
    sendAllStores()
    if filter.matchesAll, !soft, isLoaded { return purgeAll(filter, then) }
    purgeEntries(filter, soft: soft, then: then)
  }

  private func dropStores(matching filter: PurgeFilter) {
    for store in stores.all.values
    where filter.matches(key: store.image.key, tags: store.image.tags) {
      store.image.isPurged = true
    }
  }

  /// Purges what the index file has by now.
  func purgeEntries(_ filter: PurgeFilter, soft: Bool, then: @escaping (Removal) -> Void) {
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
        if matches == nil { owe(OwedPurge(filter: filter, soft: soft)) }
        then(take(matches ?? [], soft: soft))
        if !soft { carryOut() }
        endPurge()
      })
  }

  private func purgeAll(_ filter: PurgeFilter, _ then: @escaping (Removal) -> Void) {
    var removal = Removal()
    for place in Array(index.places) {
      let allocated = index.remove(place).allocated
      removal.count(allocated)
    }
    let (wall, leases) = (self.wall, currentLeases)
    purging += 1
    order(
      { (writer) throws(DiskTrouble) in try writer.doomAll(leases: leases, at: wall) },
      then: { [unowned self] done in
        if done == nil { owe(OwedPurge(filter: filter, soft: false)) }
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

  // MARK: What is doomed

  /// Removes files whose lease is over, now and again when the next one's is.
  func carryOut() {
    let wall = self.wall
    order(
      { (writer) throws(DiskTrouble) in try writer.carryOut(at: wall) },
      then: { [unowned self] next in
        guard let next = next ?? nil else { return }
        carryOutLater(after: .seconds(max(next - self.wall, 1)))
      })
  }

  func carryOutLater(after delay: Duration) {
    if let carryingOut, carryingOut.deadline <= loop.now + delay { return }
    carryingOut?.cancel()
    carryingOut = loop.schedule(after: delay) { [unowned self] in
      carryingOut = nil
      carryOut()
    }
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
    // Whole seconds: rather one entry too many goes than one too few.
    storedBefore = filter.olderThan.map { wall - $0.nanoseconds / 1_000_000_000 + 1 }
    usedBefore = filter.unusedFor.map { wall - $0.nanoseconds / 1_000_000_000 + 1 }
    staleAt = filter.expired ? wall : nil
  }
}

extension DiskTier {
  // MARK: After an unclean stop

  private static let shelvesAtOnce = 16

  /// Compares files and rows, shelf by shelf: a power loss may undo what a kill cannot.
  func lookThrough(shelf: Int) {
    guard shelf < Shelf.all else { return }
    let end = min(shelf + Self.shelvesAtOnce, Shelf.all)
    order(
      { (writer) throws(DiskTrouble) in try writer.lookThrough(shelves: shelf..<end) },
      then: { [unowned self] lost in
        guard let lost else { return }
        for match in lost { forget(match) }
        lookThrough(shelf: end)
      })
  }

  /// An entry whose file is not there.
  private func forget(_ match: IndexMatch) {
    if !isLoaded { removedWhileLoading.insert(match.number) }
    let digest = KeyDigest(high: match.digestHigh, low: match.digestLow)
    guard let place = index.place(of: digest), index[place].number == match.number else { return }
    index.remove(place)
  }
}
