/// Purges whose entries still have to be looked for in the index file.
///
/// They are in force from the moment they were asked for: before an entry is shown, it is compared
/// with them here, so nobody has to wait for a search. A purge is filed under the condition that the fewest
/// entries meet, and only compared with those.
final class PendingPurges {
  enum Screening {
    case shown
    /// It may not, and has just been removed.
    case gone
    /// It depends on its tags, which are not known yet.
    case unknown
  }

  private enum Verdict {
    case spared, stale, unknown
    case gone(PurgeWork)
  }

  private typealias Works = [ObjectIdentifier: PurgeWork]

  private let index: DiskIndex
  private var byURL: [CanonicalURL: Works] = [:]
  private var byHost: [String: Works] = [:]
  private var byTag: [String: Works] = [:]
  private var others: Works = [:]
  private(set) var count = 0

  init(index: DiskIndex) { self.index = index }

  var isEmpty: Bool { count == 0 }

  func add(_ work: PurgeWork) {
    guard !work.isInForce else { return }
    work.isInForce = true
    count += 1
    change(work) { $0[ObjectIdentifier(work)] = work }
  }

  func remove(_ work: PurgeWork) {
    guard work.isInForce else { return }
    work.isInForce = false
    count -= 1
    change(work) { $0[ObjectIdentifier(work)] = nil }
  }

  private func change(_ work: PurgeWork, _ body: (inout Works) -> Void) {
    let filter = work.order.filter
    func change<Condition: Hashable>(_ table: inout [Condition: Works], _ condition: Condition) {
      var works = table.removeValue(forKey: condition) ?? [:]
      body(&works)
      if !works.isEmpty { table[condition] = works }
    }
    if let url = filter.url {
      change(&byURL, url)
    } else if let host = filter.host?.lowercased() {
      change(&byHost, host)
    } else if let tag = filter.tag {
      change(&byTag, tag)
    } else {
      body(&others)
    }
  }

  /// Whether the entry at a place may be shown; one that a purge covers is removed at once, or marked stale.
  func screen(_ place: Int, of key: CacheKey, tags: [String]? = nil) -> Screening {
    guard !isEmpty else { return .shown }
    let entry = index[place]
    switch verdict(on: entry, of: key, tags: tags) {
    case .spared: return .shown
    case .unknown: return .unknown
    case .stale:
      index.markStale(entry.digest, number: entry.number)
      return .shown
    case .gone(let work):
      index.remove(place)
      work.takeIn(IndexMatch(number: entry.number, digest: entry.digest, allocated: entry.allocated), counts: true)
      return .gone
    }
  }

  func spares(_ row: IndexRow) -> Bool {
    guard !isEmpty else { return true }
    let record = row.record
    let key = CacheKey(
      url: CanonicalURL(canonical: record.url), identifier: record.identifier, knownDigest: record.digest)
    if case .gone = verdict(on: DiskEntry(row), of: key, tags: record.tags) { return false }
    return true
  }

  private func verdict(on entry: DiskEntry, of key: CacheKey, tags: [String]?) -> Verdict {
    var verdict = Verdict.spared
    if tags == nil, !byTag.isEmpty { verdict = .unknown }
    for works in candidates(for: key, tags: tags) {
      for work in works.values {
        switch work.order.means(entry, of: key, tags: tags) {
        case false: break
        case nil: verdict = .unknown
        case true where !work.order.isSoft: return .gone(work)
        case true: if case .spared = verdict { verdict = .stale }
        }
      }
    }
    return verdict
  }

  private func candidates(for key: CacheKey, tags: [String]?) -> [Works] {
    var candidates: [Works] = []
    if !others.isEmpty { candidates.append(others) }
    if let works = byURL[key.url] { candidates.append(works) }
    if !byHost.isEmpty {
      for host in Self.hosts(above: key.url.host) { if let works = byHost[host] { candidates.append(works) } }
    }
    // An entry with too many tags has every one.
    if EntryTags.areMore(tags ?? []) { candidates += byTag.values }
    guard !byTag.isEmpty else { return candidates }
    for tag in tags ?? [] {
      if let works = byTag[String(decoding: EntryTags.name(of: tag), as: UTF8.self)] { candidates.append(works) }
    }
    return candidates
  }

  private static func hosts(above host: String) -> [String] {
    var hosts = [host]
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      hosts.append(String(rest))
    }
    return hosts
  }
}

extension RemovalOrder {
  /// Whether it covers an entry; nil when that depends on tags that are not known.
  func means(_ entry: DiskEntry, of key: CacheKey, tags: [String]?) -> Bool? {
    guard entry.number <= ceiling else { return false }
    if let storedBefore, Int64(entry.storedAt) >= storedBefore { return false }
    if let usedBefore, Int64(entry.lastAccess) >= usedBefore { return false }
    if let staleAt, entry.isForm || Int64(entry.freshUntil) > staleAt { return false }
    if tags != nil || filter.tag == nil { return filter.matchesName(key, tags: tags ?? []) }
    var names = filter
    names.tag = nil
    return names.matchesName(key, tags: []) ? nil : false
  }
}
