internal import ImgdSystem

extension DiskTier {
  /// What the tier has of an image.
  package enum Fetching {
    case nothing
    /// It is on its way to the disk, and here.
    case image(CachedImage)
    /// The answer will be told.
    case later
  }

  /// Looks for an image, fresh or not; `then` gets it, or nil, if it cannot be said at once.
  ///
  /// Who only brings into memory what has been answered already does not count as a use.
  package func fetch(
    _ key: CacheKey, countsAsUse: Bool = true, then: @escaping (CachedImage?) -> Void
  ) -> Fetching {
    fetch(key, Waiter(counts: countsAsUse, then: then))
  }

  /// Who waits for an image.
  struct Waiter {
    let counts: Bool
    let then: (CachedImage?) -> Void
  }

  private func note(_ image: CachedImage?, for waiter: Waiter) {
    guard waiter.counts else { return }
    if image == nil { counts.misses += 1 } else { counts.hits += 1 }
  }

  private func tell(_ waiter: Waiter, _ image: CachedImage?) {
    note(image, for: waiter)
    waiter.then(image)
  }

  private func fetch(_ key: CacheKey, _ waiter: Waiter) -> Fetching {
    guard isEnabled, key.scope == nil else { return .nothing }
    guard purging == 0 else {
      afterPurge.append { [unowned self] in fetchAgain(key, waiter) }
      return .later
    }
    guard state != .off else { return .nothing }
    if let image = stores.image(for: key) {
      note(image, for: waiter)
      return .image(image)
    }
    let digest = KeyDigest(url: key.url.text, identifier: key.identifier)
    if let place = index.place(of: digest) {
      guard !isTooOld(index[place]) else {
        remove([place], as: .eviction)
        note(nil, for: waiter)
        return .nothing
      }
      // Its row may still be the old one.
      if let image = renewals[index[place].number] {
        touch(place)
        note(image, for: waiter)
        return .image(image)
      }
      load(place, key, waiter)
      return .later
    }
    guard !isLoaded else {
      note(nil, for: waiter)
      return .nothing
    }
    lookUp(digest, key, waiter)
    return .later
  }

  private func fetchAgain(_ key: CacheKey, _ waiter: Waiter) {
    switch fetch(key, waiter) {
    case .nothing: waiter.then(nil)
    case .image(let image): waiter.then(image)
    case .later: break
    }
  }

  /// While the index is being read, the file knows of entries that memory does not.
  private func lookUp(_ digest: KeyDigest, _ key: CacheKey, _ waiter: Waiter) {
    ask(
      { (reader) throws(DiskTrouble) in try reader.record(digest) },
      orElse: { [unowned self] in tell(waiter, nil) },
      then: { [unowned self] record in
        // What the file said may be what is being purged.
        guard purging == 0 else {
          afterPurge.append { [unowned self] in fetchAgain(key, waiter) }
          return
        }
        // Once all are in memory, what only the file knows has been removed.
        let place = isLoaded ? index.place(of: digest) : record.flatMap { takeIn($0) }
        guard let place, !isTooOld(index[place]) else {
          return tell(waiter, nil)
        }
        load(place, key, waiter)
      })
  }

  // MARK: Loading

  /// Reads a picture; all who want it meanwhile share the reading.
  private func load(_ place: Int, _ key: CacheKey, _ waiter: Waiter) {
    let entry = index[place]
    loads[entry.digest, default: []].append(waiter)
    guard loads[entry.digest]?.count == 1 else { return }
    let order = LoadOrder(
      number: entry.number, bytes: Int(entry.bytes), verifies: !entry.isTrusted)
    ask(
      { (reader) throws(DiskTrouble) in reader.load(order) },
      orElse: { [unowned self] in loaded(nil, entry, key, at: place) },
      then: { [unowned self] answer in loaded(answer, entry, key, at: place) })
  }

  private func loaded(
    _ answer: LoadAnswer?, _ entry: DiskEntry, _ key: CacheKey, at place: Int
  ) {
    let waiting = loads.removeValue(forKey: entry.digest) ?? []
    let again = waiting.map { waiter in { [unowned self] in fetchAgain(key, waiter) } }
    // What was read may be what is being purged.
    guard purging == 0 else { return afterPurge += again }
    // Or what has gone meanwhile, and some of those who wait have come for what is there now.
    guard index.entry(at: place, number: entry.number) != nil else {
      return again.forEach { look in look() }
    }
    let image = answer.flatMap { self.image(from: $0, entry, key, at: place) }
    for waiter in waiting { tell(waiter, image) }
  }

  /// The image, and what has to be done if it is not whole.
  private func image(
    from answer: LoadAnswer, _ entry: DiskEntry, _ key: CacheKey, at place: Int
  ) -> CachedImage? {
    switch answer {
    case .loaded(let row, let payload):
      guard row.isOf(key),
        let image = CachedImage(
          row, key: key, payload: payload, facts: entry.facts, wall: wall, at: loop.now)
      else {
        damaged(place, "its row is not what was stored")
        return nil
      }
      index[place].isTrusted = true
      touch(place)
      image.file = storedFile(of: entry, at: place)
      return image
    case .missing: lost(place)
    case .damaged(let reason): damaged(place, reason)
    case .failed(let trouble): fail(trouble)
    }
    return nil
  }

  /// A file is not there. If that is because its directory is not, everything begins anew.
  func lost(_ place: Int) {
    remove([place], as: .loss)
    order(
      { (writer) throws(DiskTrouble) in writer.isInPlace },
      then: { [unowned self] isInPlace in
        if isInPlace == false { fail(DiskTrouble(.gone, "the cache directory was removed")) }
      })
  }

  func damaged(_ place: Int, _ reason: String) {
    counts.corrupt += 1
    onNews(.damaged("\(fileName(of: index[place])): \(reason)"))
    remove([place], as: .loss)
  }

  func isTooOld(_ entry: DiskEntry) -> Bool {
    guard let maxAge = limits.maxAge else { return false }
    return Int64(entry.storedAt) <= wall - maxAge.nanoseconds / 1_000_000_000
  }
}
