package import ImgdSystem

/// Failures that are remembered for a short while, so that a page that asks for a missing picture
/// again and again does not ask its origin every time.
///
/// When it is full, the failure that was noted first goes first. What has expired goes when it is
/// met.
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
    /// Which note it was, so that the order knows an entry from its successor.
    fileprivate let number: UInt64
  }

  private let capacity: Int
  private var entries: [CacheKey: Entry] = [:]
  /// Keys in the order of noting, with gaps where the entry has gone.
  private var order: [(key: CacheKey, number: UInt64)] = []
  private var first = 0
  private var lastNumber: UInt64 = 0

  package init(capacity: Int = 10_000) {
    precondition(capacity > 0, "a cache has room for something")
    self.capacity = capacity
  }

  package var count: Int { entries.count }

  /// Remembers a failure in place of an earlier one under its key; one that lasts no time only
  /// makes the earlier one forgotten.
  package mutating func note(
    _ value: Value, for key: CacheKey, lasting time: Duration, at now: Instant
  ) {
    entries[key] = nil
    guard time > .zero else { return }
    while entries.count >= capacity { dropFirst() }
    lastNumber += 1
    entries[key] = Entry(value: value, notedAt: now, end: now + time, number: lastNumber)
    order.append((key, lastNumber))
    closeGaps()
  }

  /// The failure under a key, with its age and the time that it is remembered still.
  package mutating func find(_ key: CacheKey, at now: Instant) -> Found? {
    guard let entry = entries[key] else { return nil }
    guard now < entry.end else {
      entries[key] = nil
      return nil
    }
    return Found(
      value: entry.value, age: max(now - entry.notedAt, .zero), remaining: entry.end - now)
  }

  /// Forgets the failure under a key: there is something after all.
  package mutating func forget(_ key: CacheKey) {
    entries[key] = nil
    closeGaps()
  }

  /// Forgets what a purge is about, and says how many that were.
  ///
  /// A failure has no tags and no uses: a filter that asks for those is about none. What has
  /// expired is about to go anyway.
  @discardableResult
  package mutating func remove(where filter: PurgeFilter, at now: Instant) -> Int {
    let before = entries.count
    entries = entries.filter { key, entry in !entry.matches(filter, key, at: now) }
    closeGaps()
    return before - entries.count
  }

  private mutating func dropFirst() {
    let oldest = order[first]
    first += 1
    if entries[oldest.key]?.number == oldest.number { entries[oldest.key] = nil }
  }

  /// Keeps the order as long as what it orders, give or take a factor.
  private mutating func closeGaps() {
    guard order.count > 2 * entries.count + 16 else { return }
    order = order[first...].filter { entries[$0.key]?.number == $0.number }
    first = 0
  }
}

extension NegativeCache: Sendable where Value: Sendable {}
extension NegativeCache.Found: Sendable where Value: Sendable {}
extension NegativeCache.Entry: Sendable where Value: Sendable {}

extension NegativeCache.Entry {
  fileprivate func matches(_ filter: PurgeFilter, _ key: CacheKey, at now: Instant) -> Bool {
    guard filter.unusedFor == nil, filter.matchesName(key, tags: []) else { return false }
    if let olderThan = filter.olderThan, now - notedAt <= olderThan { return false }
    return !filter.expired || now >= end
  }
}
