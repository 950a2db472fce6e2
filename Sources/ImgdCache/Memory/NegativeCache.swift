package import ImgdSystem

/// Failures that are remembered for a short while, so that a page that asks for a missing picture
/// again and again does not ask its origin every time.
///
/// When it is full, in number or in bytes, the failure that was noted first goes first. What has
/// expired goes when it is met, and so does what a purge is about: to look at thousands of failures at
/// once would hold up the loop.
package struct NegativeCache<Value> {
  /// A failure that is remembered, and for how long still.
  package struct Found {
    package let value: Value
    package let age: Duration
    package let remaining: Duration
  }

  struct Entry {
    fileprivate let value: Value
    fileprivate let notedAt: Instant
    fileprivate let end: Instant
    fileprivate let cost: Int
    /// Which note it was, so that the order knows an entry from its successor.
    fileprivate let number: UInt64
  }

  /// A purge that is carried out on the failures that are met.
  struct Purge {
    fileprivate let filter: PurgeFilter
    fileprivate let askedAt: Instant
    /// The last failure that it can be about.
    fileprivate let last: UInt64
  }

  /// Each failure that is met is compared with so many purges; beyond, all failures are forgotten,
  /// which costs their origins one more request each.
  private static var mostPurges: Int { 8 }
  /// So many keys of one URL are dropped at once.
  private static var mostAtOnce: Int { 64 }

  private let capacity: Int
  private let mostBytes: Int
  /// What the failures hold together.
  package private(set) var bytes = 0
  private var entries: [CacheKey: Entry] = [:]
  /// The keys of a URL beside its plain one, so that a purge of the URL need not pass over all.
  private var further: [CanonicalURL: Set<CacheKey>] = [:]
  /// Keys in the order of noting, with gaps where the entry has gone.
  private var order: [(key: CacheKey, number: UInt64)] = []
  private var first = 0
  private var lastNumber: UInt64 = 0
  private var purges: [Purge] = []

  package init(capacity: Int = 4_096, mostBytes: Int = 4 << 20) {
    precondition(capacity > 0, "a cache has room for something")
    self.capacity = capacity
    self.mostBytes = mostBytes
  }

  /// How many are held, those included that a purge is about and that have not been met since.
  package var count: Int { entries.count }

  /// The bytes of an entry that are not counted one by one: its places in the tables, which are partly
  /// empty.
  package static var bookkeeping: Int { 640 }

  /// Remembers a failure in place of an earlier one under its key; one that lasts no time only
  /// makes the earlier one forgotten. `size` is what the value holds.
  package mutating func note(
    _ value: Value, size: Int = 0, for key: CacheKey, lasting time: Duration, at now: Instant
  ) {
    drop(key)
    let cost = Self.bookkeeping + key.cost + size
    guard time > .zero, cost <= mostBytes else { return closeGaps() }
    while entries.count >= capacity || bytes + cost > mostBytes { dropFirst() }
    lastNumber += 1
    entries[key] = Entry(
      value: value, notedAt: now, end: now + time, cost: cost, number: lastNumber)
    bytes += cost
    if !key.isPlain { further[key.url, default: []].insert(key) }
    order.append((key, lastNumber))
    closeGaps()
  }

  /// The failure under a key, with its age and the time that it is remembered still.
  package mutating func find(_ key: CacheKey, at now: Instant) -> Found? {
    guard !entries.isEmpty, let entry = entries[key] else { return nil }
    guard now < entry.end, !purges.contains(where: { $0.isAbout(entry, key) }) else {
      drop(key)
      return nil
    }
    return Found(
      value: entry.value, age: max(now - entry.notedAt, .zero), remaining: entry.end - now)
  }

  /// Forgets the failure under a key: there is something after all.
  package mutating func forget(_ key: CacheKey) {
    drop(key)
    closeGaps()
  }

  /// Forgets every failure, and gives their memory back.
  package mutating func removeAll() {
    self = NegativeCache(capacity: capacity, mostBytes: mostBytes)
  }

  /// Forgets what a purge is about: none of that is found any more.
  ///
  /// A failure has no tags and no uses: a filter that asks for those is about none. What has
  /// expired is about to go anyway.
  package mutating func remove(where filter: PurgeFilter, at now: Instant) {
    if filter.matchesAll { return removeAll() }
    guard filter.tag == nil, filter.unusedFor == nil, !entries.isEmpty else { return }
    if let url = filter.url, further[url]?.count ?? 0 <= Self.mostAtOnce {
      for key in [CacheKey(url: url)] + (further[url] ?? [])
      where entries[key]?.matches(filter, key, at: now) == true { drop(key) }
      return closeGaps()
    }
    note(Purge(filter: filter, askedAt: now, last: lastNumber))
  }

  /// Purges that are asked for again and again are one.
  private mutating func note(_ purge: Purge) {
    while first < order.count, isGap(order[first]) { first += 1 }
    let oldest = first < order.count ? order[first].number : .max
    purges.removeAll { $0.filter == purge.filter || $0.last < oldest }
    guard purges.count < Self.mostPurges else { return removeAll() }
    purges.append(purge)
  }

  private mutating func dropFirst() {
    let oldest = order[first]
    first += 1
    if !isGap(oldest) { drop(oldest.key) }
  }

  private func isGap(_ place: (key: CacheKey, number: UInt64)) -> Bool {
    entries[place.key]?.number != place.number
  }

  private mutating func drop(_ key: CacheKey) {
    guard !entries.isEmpty, let entry = entries.removeValue(forKey: key) else { return }
    bytes -= entry.cost
    guard !key.isPlain else { return }
    further[key.url]?.remove(key)
    if further[key.url]?.isEmpty == true { further[key.url] = nil }
  }

  /// Keeps the order as long as what it orders, give or take a factor.
  private mutating func closeGaps() {
    guard order.count > 2 * entries.count + 16 else { return }
    order = order[first...].filter { !isGap($0) }
    first = 0
  }
}

extension NegativeCache: Sendable where Value: Sendable {}
extension NegativeCache.Found: Sendable where Value: Sendable {}
extension NegativeCache.Entry: Sendable where Value: Sendable {}
extension NegativeCache.Purge: Sendable where Value: Sendable {}

extension NegativeCache.Purge {
  fileprivate func isAbout(_ entry: NegativeCache.Entry, _ key: CacheKey) -> Bool {
    entry.number <= last && entry.matches(filter, key, at: askedAt)
  }
}

extension NegativeCache.Entry {
  fileprivate func matches(_ filter: PurgeFilter, _ key: CacheKey, at now: Instant) -> Bool {
    guard filter.matchesName(key, tags: []) else { return false }
    if let olderThan = filter.olderThan, now - notedAt <= olderThan { return false }
    return !filter.expired || now >= end
  }
}

extension CacheKey {
  /// Whether it is a URL and nothing else.
  fileprivate var isPlain: Bool { identifier == nil && variant == nil && scope == nil }
}
