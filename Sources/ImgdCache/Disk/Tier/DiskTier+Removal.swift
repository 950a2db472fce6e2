internal import ImgdSystem

extension DiskTier {
  /// Why entries go.
  enum Departure {
    case eviction, purge
    /// Their file is not there, or not whole.
    case loss
  }

  /// Takes entries out, here at once and on disk behind.
  func remove(_ places: [Int], as departure: Departure) {
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
    doom(numbers)
  }

  /// So many rows and files at a time, so that a picture never waits long for the writer.
  private static let mostAtOnce = 512

  private func doom(_ numbers: [UInt32]) {
    let wall = self.wall
    var leases: [UInt32: Int64] = [:]
    for number in numbers {
      if let end = self.leases[number], end > wall { leases[number] = end }
    }
    for start in stride(from: 0, to: numbers.count, by: Self.mostAtOnce) {
      let part = Array(numbers[start..<min(start + Self.mostAtOnce, numbers.count)])
      let promised = leases
      order({ (writer) throws(DiskTrouble) in
        try writer.doom(part, leases: promised, at: wall)
      })
    }
    if !leases.isEmpty { carryOutLater(after: limits.lease) }
  }

  /// Removes the image under a key, if there is one.
  package func remove(_ key: CacheKey) {
    guard isEnabled, key.scope == nil else { return }
    let digest = KeyDigest(url: key.url.text, identifier: key.identifier)
    if let place = index.place(of: digest) { remove([place], as: .purge) }
    for store in stores.all.values where store.image.key == key { store.isPurged = true }
    guard !isLoaded else { return }
    // The file may know of an entry that memory does not know yet.
    var filter = PurgeFilter()
    filter.url = key.url
    filter.identifier = key.identifier ?? ""
    purge(filter, soft: false) { _ in }
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
