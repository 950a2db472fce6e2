internal import ImgdSystem

extension DiskTier {
  /// Why entries go.
  enum Departure {
    case eviction
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
    doom(numbers, urgently: urgently)
  }

  /// Removes the image under a key, if there is one.
  package func remove(_ key: CacheKey) {
    guard isEnabled, key.scope == nil else { return }
    let digest = KeyDigest(url: key.url.text, identifier: key.identifier)
    if let place = index.place(of: digest) { purge(place, of: key) }
    for store in stores.all.values where store.image.key == key { store.image.isPurged = true }
    guard !isLoaded else { return }
    // The file may know of an entry that memory does not know yet.
    var filter = PurgeFilter()
    filter.url = key.url
    filter.identifier = key.identifier ?? ""
    purge(filter, soft: false) { _ in }
  }

  /// An entry that nobody may see any more, not even after a restart.
  func purge(_ place: Int, of key: CacheKey) {
    let number = index.remove(place).number
    if !isLoaded { removedWhileLoading.insert(number) }
    clearAway(number, of: key)
  }

  // MARK: Going

  /// One part after the other: what is stored meanwhile comes in between. Where room is wanted for
  /// what comes next, all go before it.
  private func doom(_ numbers: [UInt32], urgently: Bool) {
    toDoom.append(contentsOf: numbers)
    guard urgently else { return doomSome() }
    while !toDoom.isEmpty { doomPart { _ in } }
  }

  /// Goes on until all are gone; after a failure only when it has been overcome.
  func doomSome() {
    guard !isDooming, !toDoom.isEmpty else { return }
    isDooming = true
    doomPart { [unowned self] done in
      isDooming = false
      if done { doomSome() }
    }
  }

  private func doomPart(then: @escaping (_ done: Bool) -> Void) {
    let wall = self.wall
    let part = Array(toDoom.suffix(Self.mostAtOnce))
    toDoom.removeLast(part.count)
    let leases = leases(of: part)
    if !leases.isEmpty { carryOutLater(after: limits.lease) }
    order(
      { (writer) throws(DiskTrouble) in try writer.doom(part, leases: leases, at: wall) },
      then: { [unowned self, generation] done in
        if done == nil, generation == self.generation { toDoom += part }
        then(done != nil)
      })
  }

  // MARK: What is doomed

  /// Removes files whose lease is over, now and again when the next one's is.
  func carryOut(after number: UInt32 = 0) {
    guard !isCarryingOut else { return }
    isCarryingOut = true
    let wall = self.wall
    order(
      { (writer) throws(DiskTrouble) in try writer.carryOut(after: number, at: wall) },
      then: { [unowned self] answer in
        isCarryingOut = false
        if let next = answer?.next { return carryOut(after: next) }
        guard let due = answer?.due else { return }
        carryOutLater(after: .seconds(max(due - self.wall, 1)))
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
