internal import ImgdSystem

/// Finds images and reads them; requests for one picture share one read.
final class DiskLoads: DiskPart {
  /// A client of `fetch` that waits for an image.
  private struct Waiter {
    let countsAsUse: Bool
    let then: (CachedImage?) -> Void
  }

  /// How many waiters for one picture are answered in one tick.
  static let waitersAtOnce = 64

  let ground: DiskGround
  private let stores: DiskStores
  private let renewals: DiskRenewals
  private let removals: DiskRemovals
  private let losses: DiskLosses
  /// Those who wait for each picture that is being read.
  private var waiting: [KeyDigest: [Waiter]] = [:]

  init(_ ground: DiskGround, stores: DiskStores, renewals: DiskRenewals, removals: DiskRemovals, losses: DiskLosses) {
    self.ground = ground
    self.stores = stores
    self.renewals = renewals
    self.removals = removals
    self.losses = losses
  }

  var isEmpty: Bool { waiting.isEmpty }

  /// Whether a picture is being read.
  func isReading(_ digest: KeyDigest) -> Bool { waiting[digest] != nil }

  /// Looks for an image, fresh or not. If the outcome is not known at once, `then` gets the image or nil later.
  ///
  /// The image carries the last purge before the look: a later purge of memory alone leaves it on disk, but keeps it
  /// out of memory.
  func fetch(_ key: CacheKey, countsAsUse: Bool, then: @escaping (CachedImage?) -> Void) -> Look<CachedImage?> {
    guard let digest = key.digest else { return .now(nil) }
    return fetch(key, digest, Waiter(countsAsUse: countsAsUse, then: then))
  }

  /// Whether there may be an image, as far as that is known at once.
  func mayHold(_ key: CacheKey) -> Bool {
    guard let digest = key.digest else { return false }
    if gate.isClosed { return true }
    return health.isUp && (stores.image(for: key) != nil || !index.isLoaded || index.place(of: digest) != nil)
  }

  /// Ends every read without an image, because the index is given up.
  func cancel() {
    let cancelled = waiting.values.flatMap(\.self)
    waiting = [:]
    for waiter in cancelled { waiter.then(nil) }
  }

  // MARK: Finding

  private func fetch(_ key: CacheKey, _ digest: KeyDigest, _ waiter: Waiter) -> Look<CachedImage?> {
    guard !gate.isClosed else {
      gate.wait { [unowned self] in fetchAgain(key, digest, waiter) }
      return .later
    }
    guard health.isUp else { return .now(nil) }
    if let image = stores.image(for: key) {
      carryOn(image)
      countLook(image, for: waiter)
      return .now(image)
    }
    if let place = index.place(of: digest) { return fetch(key, digest, at: place, waiter) }
    guard !index.isLoaded else {
      countLook(nil, for: waiter)
      return .now(nil)
    }
    lookUp(key, digest, waiter)
    return .later
  }

  private func fetch(_ key: CacheKey, _ digest: KeyDigest, at place: Int, _ waiter: Waiter) -> Look<CachedImage?> {
    guard !rules.isTooOld(index[place]) else {
      removals.remove([place], as: .eviction)
      countLook(nil, for: waiter)
      return .now(nil)
    }
    // While a renewal is being written, the row may still be the old one.
    let renewed = renewals.image(of: index[place].number)
    guard pending.screen(place, of: key, tags: renewed?.tags) != .gone else {
      countLook(nil, for: waiter)
      return .now(nil)
    }
    if let image = renewed {
      if index[place].freshUntil == 0 { image.markStale() }
      carryOn(image)
      if waiter.countsAsUse { uses.note(place) }
      countLook(image, for: waiter)
      return .now(image)
    }
    load(place, key, digest, waiter)
    return .later
  }

  /// Counts an image as compared with all purges up to now, unless it is in memory too, where it is compared itself.
  private func carryOn(_ image: CachedImage) { if image.place == nil { image.checked = purges.newest } }

  private func fetchAgain(_ key: CacheKey, _ digest: KeyDigest, _ waiter: Waiter) {
    fetch(key, digest, waiter).passOn(to: waiter.then)
  }

  /// Asks the index file for an entry: while the index is being read, memory does not have all of them.
  private func lookUp(_ key: CacheKey, _ digest: KeyDigest, _ waiter: Waiter) {
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.entry(of: digest) }, orElse: { [unowned self] in tell(waiter, nil) },
      then: { [unowned self] entry in
        // The entry may come from an index that has been given up.
        guard !gate.isClosed else { return gate.wait { [unowned self] in fetchAgain(key, digest, waiter) } }
        // Once all entries are in memory, one that is only in the file has been removed.
        let place = index.isLoaded ? index.place(of: digest) : entry.flatMap { takeIn($0) }
        guard let place, !rules.isTooOld(index[place]), pending.screen(place, of: key) != .gone else {
          return tell(waiter, nil)
        }
        load(place, key, digest, waiter)
      })
  }

  // MARK: Entries of the index file

  /// Takes in an entry of the index file, and returns its place; nil if its format is unknown or it was removed.
  @discardableResult func takeIn(_ entry: DiskEntry) -> Int? {
    guard files.knows(entry.facts) else { return nil }
    return index.load(entry)
  }

  // MARK: Reading

  private func load(_ place: Int, _ key: CacheKey, _ digest: KeyDigest, _ waiter: Waiter) {
    let entry = index[place]
    waiting[digest, default: []].append(waiter)
    guard waiting[digest]?.count == 1 else { return }
    let number = entry.number
    let checked = purges.newest
    threads.ask(
      { (reader) throws(DiskTrouble) in reader.load(number) },
      orElse: { [unowned self] in loaded(nil, entry, key, at: place, checked: checked) },
      then: { [unowned self] answer in loaded(answer, entry, key, at: place, checked: checked) })
  }

  private func loaded(_ answer: LoadAnswer?, _ entry: DiskEntry, _ key: CacheKey, at place: Int, checked: UInt64) {
    let waiters = waiting.removeValue(forKey: entry.digest) ?? []
    let again = { [unowned self] in for waiter in waiters { fetchAgain(key, entry.digest, waiter) } }
    guard !gate.isClosed else { return gate.wait(again) }
    // The entry may have gone meanwhile, and some of the waiters may have come for one that replaced it.
    guard index.entry(at: place, number: entry.number) != nil else { return again() }
    let image = answer.flatMap { self.image(from: $0, entry, key, at: place) }
    image?.checked = checked
    if image != nil, waiters.contains(where: { $0.countsAsUse }) { uses.note(place) }
    tell(waiters[...], image)
  }

  /// The image that the reader brought; an entry whose picture is missing or damaged is removed.
  private func image(from answer: LoadAnswer, _ entry: DiskEntry, _ key: CacheKey, at place: Int) -> CachedImage? {
    switch answer {
    case .loaded(let record, let payload, let stamp):
      guard record.isOf(key),
        let image = CachedImage.make(record, key: key, payload: payload, wall: rules.wall, at: loop.now)
      else {
        losses.damaged(place, "its row is not what was stored")
        return nil
      }
      guard pending.screen(place, of: key, tags: image.tags) != .gone else { return nil }
      // A soft purge may not have reached the row yet.
      if index[place].freshUntil == 0, record.freshUntil > 0 { image.markStale() }
      index.setStamp(stamp, at: place)
      image.file = files.stored(entry, at: place)
      return image
    case .missing: losses.missing(place)
    case .damaged(let reason): losses.damaged(place, reason)
    case .failed(let trouble): threads.report(trouble)
    }
    return nil
  }

  // MARK: Answers

  private func countLook(_ image: CachedImage?, for waiter: Waiter) {
    guard waiter.countsAsUse else { return }
    if image == nil { reports.miss() } else { reports.hit() }
  }

  /// Answers many waiters with one outcome, some in each tick.
  private func tell(_ waiters: ArraySlice<Waiter>, _ image: CachedImage?) {
    for waiter in waiters.prefix(Self.waitersAtOnce) { tell(waiter, image) }
    let others = waiters.dropFirst(Self.waitersAtOnce)
    if !others.isEmpty { loop.nextTick { [unowned self] in tell(others, image) } }
  }

  private func tell(_ waiter: Waiter, _ image: CachedImage?) {
    countLook(image, for: waiter)
    waiter.then(image)
  }
}
