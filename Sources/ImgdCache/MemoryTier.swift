// Pictures in memory, the least recently used first out.
//
// The seeds' rule: nothing happens until usage is over capacity; then images go, oldest use first,
// until it is down to the preferred usage. What makes it cheap is that recency is a list and not a
// date: a use moves one node to the front, and a purge takes nodes from the end, so it costs what it
// removes and never looks at what stays.
//
// The list is made of indices into one array. Links between objects would be released one inside the
// other, and a million of them would not fit on a stack.

package import ImgdSystem

package final class MemoryTier: ImageRequestCache {
  package struct Limits: Sendable, Equatable {
    package var capacity: Int
    package var preferred: Int
    package var entry: Int

    package init(capacity: Int, preferred: Int, entry: Int) {
      self.capacity = capacity
      self.preferred = preferred
      self.entry = entry
    }
  }

  package struct Counts: Sendable {
    package var hits = 0
    package var misses = 0
    package var insertions = 0
    package var replacements = 0
    package var evictions = 0
    package var evictedBytes = 0
    package var purges = 0
  }

  /// Images that went, and their bytes.
  package struct Removal: Sendable, Equatable {
    package var entries = 0
    package var bytes = 0

    package static let none = Removal()

    package init(entries: Int = 0, bytes: Int = 0) {
      self.entries = entries
      self.bytes = bytes
    }

    mutating func add(_ cost: Int) {
      entries += 1
      bytes += cost
    }
  }

  package enum Refusal: Sendable, Equatable {
    /// HTTP forbids it.
    case notStorable
    case tooLarge(limit: Int)
    /// What is kept already came from a later transfer.
    case olderThanKept
  }

  /// What became of an image that was to be added.
  package enum Added: Sendable, Equatable {
    case refused(Refusal)
    case stored(evicted: Removal)
  }

  package private(set) var limits: Limits
  package private(set) var usage = 0
  /// Bytes of images of which a descriptor was handed out: whoever holds it keeps them in memory,
  /// whatever the tier removes.
  package private(set) var lentBytes = 0
  package private(set) var counts = Counts()
  private let now: () -> Instant
  private var places: [CacheKey: Int32] = [:]
  private var list = RecencyList()

  /// A tier that dates its images by `now`.
  package init(limits: Limits, now: @escaping () -> Instant) {
    self.limits = limits
    self.now = now
  }

  package var count: Int { places.count }

  // MARK: Finding

  package func image(for key: CacheKey) -> CachedImage? {
    guard let image = peek(key) else {
      noteMiss()
      return nil
    }
    noteUse(of: image)
    return image
  }

  /// Finds an image without counting as a use of it.
  package func peek(_ key: CacheKey) -> CachedImage? {
    places[key].flatMap { list[$0] }
  }

  /// Finds everybody's image of a canonical URL, without counting as a use of it.
  package func peek(canonical url: String, identifier: String?) -> CachedImage? {
    peek(CacheKey(canonical: url, identifier: identifier))
  }

  /// Counts a use of an image that was found by looking.
  package func noteUse(of image: CachedImage) {
    counts.hits += 1
    image.lastAccess = now()
    if image.place >= 0 { list.moveToFront(image.place) }
  }

  /// Counts a look-up that found nothing that could be used.
  package func noteMiss() {
    counts.misses += 1
  }

  // MARK: Adding

  package func shouldCache(_ image: CachedImage) -> Refusal? {
    guard image.answer.freshness.isStorable else { return .notStorable }
    guard image.cost <= limits.entry else { return .tooLarge(limit: limits.entry) }
    guard peek(image.key)?.serial ?? 0 <= image.serial else { return .olderThanKept }
    return nil
  }

  package func add(_ image: CachedImage) -> Added {
    if let refusal = shouldCache(image) { return .refused(refusal) }
    if remove(image.key) { counts.replacements += 1 } else { counts.insertions += 1 }
    image.accountedCost = image.cost
    image.place = list.insertAtFront(image)
    places[image.key] = image.place
    usage += image.accountedCost
    return .stored(evicted: evictWhenOver())
  }

  /// Accounts an image anew whose payload or reply has grown.
  package func reaccount(_ image: CachedImage) {
    guard image.place >= 0 else { return }
    usage += image.cost - image.accountedCost
    image.accountedCost = image.cost
  }

  /// A descriptor of an image's bytes; small ones move into a memfd the first time.
  package func lend(_ image: CachedImage) throws(SystemFailure) -> FileDescriptor {
    if !image.payload.isShareable {
      image.payload = try image.payload.shareable()
      reaccount(image)
    }
    if !image.isLent, image.place >= 0 {
      image.isLent = true
      lentBytes += image.payload.count
    }
    return try image.payload.openReadOnly()
  }

  // MARK: Removing

  package func remove(_ key: CacheKey) -> Bool {
    guard let image = peek(key) else { return false }
    take(image)
    return true
  }

  package func removeAll() -> Removal {
    let removal = Removal(entries: count, bytes: usage)
    counts.purges += 1
    list.forEach { $0.place = -1 }
    lentBytes = 0
    places = [:]
    list = RecencyList()
    usage = 0
    return removal
  }

  /// Removes what the filter matches, or marks it as outdated.
  package func purge(_ filter: PurgeFilter, marksOnly: Bool = false) -> Removal {
    if filter.matchesAll, !marksOnly { return removeAll() }
    counts.purges += 1
    var removal = Removal()
    for image in matches(of: filter) {
      removal.add(image.accountedCost)
      if marksOnly { image.isOutdated = true } else { take(image) }
    }
    return removal
  }

  private func matches(of filter: PurgeFilter) -> [CachedImage] {
    let now = self.now()
    var found: [CachedImage] = []
    list.forEach { if filter.matches($0, at: now) { found.append($0) } }
    return found
  }

  /// Takes over other limits, which hold at once.
  package func apply(_ limits: Limits) -> Removal {
    self.limits = limits
    return evictWhenOver()
  }

  private func evictWhenOver() -> Removal {
    var removal = Removal()
    guard usage > limits.capacity else { return removal }
    while usage > limits.preferred, let oldest = list.last {
      removal.add(oldest.accountedCost)
      take(oldest)
    }
    counts.evictions += removal.entries
    counts.evictedBytes += removal.bytes
    return removal
  }

  private func take(_ image: CachedImage) {
    usage -= image.accountedCost
    if image.isLent { lentBytes -= image.payload.count }
    places[image.key] = nil
    list.remove(image.place)
    image.place = -1
  }

  // MARK: Going over the entries

  /// A page of entries in the order in which they came, after the one the cursor names.
  package func page(
    after cursor: UInt64, limit: Int, prefix: String?
  ) -> (images: [CachedImage], next: UInt64?) {
    var found: [(number: UInt64, image: CachedImage)] = []
    list.forEachNumbered { number, image in
      if number > cursor, prefix.map(image.key.url.hasPrefix) ?? true { found.append((number, image)) }
    }
    found.sort { $0.number < $1.number }
    let page = found.prefix(limit)
    return (page.map(\.image), found.count > limit ? page.last?.number : nil)
  }
}
