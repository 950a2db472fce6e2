/// Answers plain requests without the reader, from the index in memory and the kernel's caches.
final class ReadyHits: DiskPart {
  let ground: DiskGround
  private let stores: DiskStores
  private let loads: DiskLoads
  private let verified: VerifiedFiles

  init(_ ground: DiskGround, stores: DiskStores, loads: DiskLoads, verified: VerifiedFiles) {
    self.ground = ground
    self.stores = stores
    self.loads = loads
    self.verified = verified
  }

  /// The entry of a digest, if it is fresh, the answer needs nothing else from its record, and
  /// its file is known to be there.
  func find(_ digest: KeyDigest, of url: String, identifier: String?, as form: ReadyHit.Form) -> ReadyHit? {
    guard !gate.isClosed, health.isUp, stores.isEmpty, let place = index.place(of: digest), !loads.isReading(digest)
    else { return nil }
    let entry = index[place]
    guard isFresh(entry), isSpared(place, digest, url, identifier), let path = files.path(of: entry),
      let content = content(of: entry, at: place, as: form)
    else { return nil }
    reports.hit()
    uses.note(place)
    if case .path = form { leases.lease(place) }
    return ReadyHit(details(of: entry, url, identifier, path), entry.version, content)
  }

  /// The entry of a key, if it is fresh and the answer needs nothing else from its record. Neither its file nor its
  /// bytes are looked at. It may still count as a use, since something that was made of it may be used.
  func glance(at key: CacheKey, countsAsUse: Bool) -> FreshEntry? {
    guard !gate.isClosed, health.isUp, let digest = key.digest, stores.isEmpty, let place = index.place(of: digest)
    else { return nil }
    let entry = index[place]
    guard isFresh(entry), isSpared(place, key) else { return nil }
    if countsAsUse { uses.note(place) }
    let wall = rules.wall
    return FreshEntry(
      facts: entry.facts, checksum: entry.checksum, age: Int(max(wall - Int64(entry.storedAt), 0)),
      freshFor: Int(Int64(entry.freshUntil) - wall))
  }

  private func details(of entry: DiskEntry, _ url: String, _ identifier: String?, _ path: String) -> EntryDetails {
    let (wall, storedAt) = (rules.wall, Int64(entry.storedAt))
    return EntryDetails(
      url: url, identifier: identifier, facts: entry.facts, bytes: Int(entry.bytes), age: Int(max(wall - storedAt, 0)),
      freshFor: Int(Int64(entry.freshUntil) - wall), storedAt: storedAt, tags: [], path: path)
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
