package import ImgdSystem

/// Finds images and reads them; requests for one picture share one read.
final class DiskLoads: DiskPart {
  private struct Waiter {
    let countsAsUse: Bool
    let then: (CachedImage?) -> Void
  }

  /// How many waiters for one picture are answered in one tick.
  static let waitersAtOnce = 64

  private let stores: DiskStores
  private let renewals: DiskRenewals
  private let removals: DiskRemovals
  private var waiting: [KeyDigest: [Waiter]] = [:]

  init(_ ground: DiskGround, stores: DiskStores, renewals: DiskRenewals, removals: DiskRemovals) {
    self.stores = stores
    self.renewals = renewals
    self.removals = removals
    super.init(ground)
  }

  var isEmpty: Bool { waiting.isEmpty }

  func isReading(_ digest: KeyDigest) -> Bool { waiting[digest] != nil }

  /// The image carries the last purge before the look: a later purge of memory alone leaves it on disk, but keeps it
  /// out of memory.
  func fetch(_ key: CacheKey, countsAsUse: Bool, then: @escaping (CachedImage?) -> Void) -> Look<CachedImage?> {
    guard let digest = key.digest else { return .now(nil) }
    return fetch(key, digest, Waiter(countsAsUse: countsAsUse, then: then))
  }

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

  private func fetch(_ key: CacheKey, _ digest: KeyDigest, _ waiter: Waiter) -> Look<CachedImage?> {
    guard !gate.isClosed else {
      gate.wait { [unowned self] in fetchAgain(key, digest, waiter) }
      return .later
    }
    guard health.isUp else { return .now(nil) }
    if let image = stores.image(for: key) {
      carryOn(image)
      return found(image, for: waiter)
    }
    if let place = index.place(of: digest) { return fetch(key, digest, at: place, waiter) }
    guard !index.isLoaded else { return found(nil, for: waiter) }
    lookUp(key, digest, waiter)
    return .later
  }

  private func fetch(_ key: CacheKey, _ digest: KeyDigest, at place: Int, _ waiter: Waiter) -> Look<CachedImage?> {
    guard !rules.isTooOld(index[place]) else {
      removals.remove([place], as: .eviction)
      return found(nil, for: waiter)
    }
    // While a renewal is being written, the row may still be the old one.
    let renewed = renewals.image(of: index[place].number)
    guard pending.screen(place, of: key, tags: renewed?.tags) != .gone else { return found(nil, for: waiter) }
    if let image = renewed {
      if index[place].freshUntil == 0 { image.markStale() }
      carryOn(image)
      if waiter.countsAsUse { uses.note(place) }
      return found(image, for: waiter)
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

  /// Takes in an entry of the index file, and returns its place; nil if its format is unknown or it was removed.
  @discardableResult func takeIn(_ entry: DiskEntry) -> Int? {
    guard files.knows(entry.facts) else { return nil }
    return index.load(entry)
  }

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

  private func loaded(
    _ answer: FileAnswer<(StoredRecord, Payload?)>?, _ entry: DiskEntry, _ key: CacheKey, at place: Int,
    checked: UInt64
  ) {
    let waiters = waiting.removeValue(forKey: entry.digest) ?? []
    let again = { [unowned self] in for waiter in waiters { fetchAgain(key, entry.digest, waiter) } }
    guard !gate.isClosed else { return gate.wait(again) }
    // The entry may have gone meanwhile, and some of the waiters may have come for one that replaced it. Or its successor is
    // still on its way: memory may have let go of that one, and would keep this older one instead.
    guard let current = index.entry(at: place, number: entry.number), stores.image(for: key) == nil else {
      return again()
    }
    // Its bytes may have gone while they were looked for.
    if case .missing? = answer, entry.hasBody, !current.hasBody { return again() }
    let image = answer.flatMap { self.image(from: $0, entry, key, at: place) }
    image?.checked = checked
    if image != nil, waiters.contains(where: { $0.countsAsUse }) { uses.note(place) }
    tell(waiters[...], image)
  }

  /// The image that the reader brought; an entry whose picture is missing or damaged is removed.
  private func image(
    from answer: FileAnswer<(StoredRecord, Payload?)>, _ entry: DiskEntry, _ key: CacheKey, at place: Int
  ) -> CachedImage? {
    switch answer {
    case .sound(let (record, payload), let stamp):
      guard record.isOf(key),
        let image = CachedImage.make(record, key: key, payload: payload, wall: rules.wall, at: loop.now)
      else {
        removals.removeDamaged(place, "its row is not what was stored")
        return nil
      }
      guard pending.screen(place, of: key, tags: image.tags) != .gone else { return nil }
      // A soft purge may not have reached the row yet.
      if index[place].freshUntil == 0, record.freshUntil > 0 { image.markStale() }
      index.setStamp(stamp, at: place)
      image.file = files.stored(entry, at: place)
      return image
    case .missing: removals.removeMissing(place)
    case .damaged(let reason): removals.removeDamaged(place, reason)
    case .failed(let trouble): threads.report(trouble)
    }
    return nil
  }

  private func found(_ image: CachedImage?, for waiter: Waiter) -> Look<CachedImage?> {
    countLook(image, for: waiter)
    return .now(image)
  }

  private func countLook(_ image: CachedImage?, for waiter: Waiter) {
    guard waiter.countsAsUse else { return }
    if image == nil { reports.counts.misses += 1 } else { reports.counts.hits += 1 }
  }

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

/// Answers plain requests without the reader, from the index in memory and the kernel's caches.
final class ReadyHits: DiskPart {
  private let stores: DiskStores
  private let loads: DiskLoads
  private let verified: VerifiedFiles

  init(_ ground: DiskGround, stores: DiskStores, loads: DiskLoads, verified: VerifiedFiles) {
    self.stores = stores
    self.loads = loads
    self.verified = verified
    super.init(ground)
  }

  func find(_ digest: KeyDigest, of url: String, identifier: String?, as form: ReadyHit.Form, owner: UInt32?)
    -> ReadyHit?
  {
    guard !gate.isClosed, health.isUp, stores.isEmpty, let place = index.place(of: digest), !loads.isReading(digest)
    else { return nil }
    let entry = index[place]
    guard entry.hasBody, isFresh(entry), owner == nil || entry.owner == owner,
      isSpared(place, digest, url, identifier), let path = files.path(of: entry),
      let content = content(of: entry, at: place, as: form)
    else { return nil }
    reports.counts.hits += 1
    uses.note(place)
    if case .path = form { leases.lease(place) }
    return ReadyHit(details(of: entry, url, identifier, path), entry.version, content)
  }

  /// The entry of a key, if it is fresh and the answer needs nothing else from its record. Neither its file nor its
  /// bytes are looked at, and they may have gone. It may still count as a use of what is known of it, since something
  /// that was made of it may be used.
  func glance(at key: CacheKey, countsAsUse: Bool) -> FreshEntry? {
    guard !gate.isClosed, health.isUp, let digest = key.digest, stores.isEmpty, let place = index.place(of: digest)
    else { return nil }
    let entry = index[place]
    guard isFresh(entry), isSpared(place, key) else { return nil }
    if countsAsUse { uses.noteFacts(place) }
    let wall = rules.wall
    return FreshEntry(
      facts: entry.facts, checksum: entry.checksum, age: Int(max(wall - Int64(entry.storedAt), 0)),
      freshFor: Int(Int64(entry.freshUntil) - wall))
  }

  private func details(of entry: DiskEntry, _ url: String, _ identifier: String?, _ path: String) -> EntryDetails {
    let (wall, storedAt) = (rules.wall, Int64(entry.storedAt))
    return EntryDetails(
      url: url, identifier: identifier, key: nil, facts: entry.facts, bytes: Int(entry.bytes),
      age: Int(max(wall - storedAt, 0)),
      freshFor: Int(Int64(entry.freshUntil) - wall), storedAt: storedAt,
      lastAccess: Int64(entry.lastAccess), hasBody: true,
      claims: EntryClaims(owner: entry.owner, tags: []), path: path)
  }

  /// The content in the form that is wanted; nil if it, or the state of the file, cannot be found out at once.
  private func content(of entry: DiskEntry, at place: Int, as form: ReadyHit.Form) -> ReadyHit.Content? {
    switch form {
    case .facts, .path: return verified.checkAtOnce(entry, at: place) == .sound ? ReadyHit.Content.none : nil
    case .descriptor:
      guard let file = verified.open(entry, at: place) else { return nil }
      return .descriptor(file)
    case .bytes(let limit):
      guard Int(entry.bytes) <= limit, let payload = verified.read(entry, at: place) else { return nil }
      return .bytes(payload)
    }
  }

  /// Whether no purge is about an entry. Since the digest was found, the URL is in its one form.
  private func isSpared(_ place: Int, _ digest: KeyDigest, _ url: String, _ identifier: String?) -> Bool {
    guard !pending.isEmpty else { return true }
    let key = CacheKey(url: CanonicalURL(canonical: url), identifier: identifier, knownDigest: digest)
    return isSpared(place, key)
  }

  private func isSpared(_ place: Int, _ key: CacheKey) -> Bool {
    pending.isEmpty || pending.screen(place, of: key) == .shown && index[place].freshUntil > 0
  }

  private func isFresh(_ entry: DiskEntry) -> Bool {
    entry.isPlain && !rules.isTooOld(entry) && Int64(entry.freshUntil) > rules.wall
      && Int64(entry.storedAt) <= rules.wall + StoredMoment.tolerance
  }
}

/// What the index in memory has of a fresh picture on disk.
package struct FreshEntry: Sendable {
  package let facts: ImageFacts
  package let checksum: BodyChecksum
  package let age: Int
  package let freshFor: Int
}

/// A hit on disk that is answered without a look at the index file, with the picture's bytes if the answer
/// includes them.
package struct ReadyHit: ~Copyable {
  /// What the answer includes of the picture, besides its facts.
  package enum Form: Sendable {
    case facts
    case path
    case descriptor
    /// Its bytes, if there are at most that many.
    case bytes(atMost: Int)
  }

  /// The bytes, in the form that was asked for.
  package enum Content: ~Copyable {
    case none
    case descriptor(FileDescriptor)
    case bytes(Payload)
  }

  package let details: EntryDetails
  package let version: PictureVersion
  private let content: Content

  init(_ details: EntryDetails, _ version: PictureVersion, _ content: consuming Content) {
    self.details = details
    self.version = version
    self.content = content
  }

  /// Hands the bytes over.
  package consuming func takeContent() -> Content { content }
}
