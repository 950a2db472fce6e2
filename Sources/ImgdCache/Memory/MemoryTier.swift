// The images that are held in memory, within a capacity.
//
// Above the capacity, strictly, the images that were not used for longest go, until what is left is
// at most the preferred amount: going further than the capacity makes room for more than the next
// image. An image costs the bytes that it really holds, and the sum of all costs is kept, never
// counted again; whatever changes a cost goes through here.
//
// Three structures share one numbering of places. A table finds the place of a key; a list orders
// the places by last use; a log orders them by insertion, for reading page by page. A look-up
// compares the parts of a key where they are, so that a hit makes no key and no allocation, and
// costs the same among a thousand images as among a million.
//
// A tier belongs to one thread, the control loop's. What happens is told by return values: there is
// nobody to call back.

package import ImgdSystem

/// The images in memory, found by key, the least recently used the first to go.
package final class MemoryTier: ImageRequestCache {
  /// How much a tier may hold, in bytes.
  package struct Limits: Sendable, Equatable {
    package let capacity: Int
    package let preferred: Int
    package let maxEntry: Int

    package init(capacity: Int, preferred: Int, maxEntry: Int) {
      precondition(
        0 <= preferred && preferred <= capacity, "the preferred amount is within the capacity")
      self.capacity = capacity
      self.preferred = preferred
      self.maxEntry = maxEntry
    }
  }

  /// What has happened since the start.
  package struct Counts: Sendable, Equatable {
    package internal(set) var hits = 0
    package internal(set) var misses = 0
    package internal(set) var insertions = 0
    package internal(set) var replacements = 0
    package internal(set) var evictions = 0
    package internal(set) var evictedBytes = 0
    /// Purges by filter and removals of everything, not the entries that they took.
    package internal(set) var purges = 0
  }

  package private(set) var limits: Limits
  package private(set) var usage = 0
  package private(set) var count = 0
  /// Bytes of images of which a descriptor has been handed out: as long as somebody holds it, they
  /// stay in memory whatever goes from here.
  package private(set) var lentBytes = 0
  package internal(set) var counts = Counts()

  var list = RecencyList()
  private(set) var log = InsertionLog()
  private var table = PlaceTable()
  private let seed = KeyHasher.randomSeed()

  package init(limits: Limits) {
    self.limits = limits
  }

  /// Takes new limits, and makes room at once where they are lower.
  package func apply(_ limits: Limits) -> Removal {
    self.limits = limits
    return makeRoom()
  }

  // MARK: Reading

  /// The image under a key, fresh or not; counts as a use, or as a miss.
  package func image(for key: CacheKey, at now: Instant) -> CachedImage? {
    guard let place = place(of: key) else {
      counts.misses += 1
      return nil
    }
    return use(place, at: now)
  }

  /// The image that answers a plain request at once; see `ImageRequestCache`.
  package func readyImage(
    for url: String, identifier: String?, at now: Instant
  ) -> CachedImage? {
    guard let place = place(of: url, identifier: identifier, scope: nil) else { return nil }
    let image = list.image(at: place)
    guard image.isFresh(at: now), image.isFor(sent: []) else { return nil }
    return use(place, at: now)
  }

  /// The image under a key, without counting as a use.
  package func peek(_ key: CacheKey) -> CachedImage? {
    place(of: key).map { list.image(at: $0) }
  }

  /// Whether there is an image of everybody's under a URL, fresh or not; counts as nothing.
  package func holds(_ url: String, identifier: String?) -> Bool {
    place(of: url, identifier: identifier, scope: nil) != nil
  }

  /// Counts the use of an image that was found by looking.
  package func noteUse(of image: CachedImage, at now: Instant) {
    guard let place = image.place else { return }
    _ = use(place, at: now)
  }

  /// Counts a look that found nothing of use.
  package func noteMiss() {
    counts.misses += 1
  }

  private func use(_ place: Int, at now: Instant) -> CachedImage {
    list.touch(place)
    counts.hits += 1
    let image = list.image(at: place)
    image.lastAccess = now
    image.hits += 1
    return image
  }

  private func place(of key: CacheKey) -> Int? {
    place(of: key.url.text, identifier: key.identifier, scope: key.scope)
  }

  private func place(of url: String, identifier: String?, scope: CredentialScope?) -> Int? {
    let identifier = identifier == "" ? nil : identifier
    let tags = tags(of: url, identifier: identifier, scope: scope)
    return table.place(tags.key) { place in
      list.image(at: place).key.matches(url, identifier: identifier, scope: scope)
    }
  }

  /// The tags of the URL alone and of the whole key.
  func tags(
    of url: String, identifier: String? = nil, scope: CredentialScope? = nil
  ) -> (url: UInt32, key: UInt32) {
    var hasher = KeyHasher(seed)
    hasher.take(url)
    let urlTag = PlaceTable.tag(hasher.finish())
    guard identifier != nil || scope != nil else { return (urlTag, urlTag) }
    if let identifier { hasher.take(identifier) }
    scope?.hash(into: &hasher)
    return (urlTag, PlaceTable.tag(hasher.finish()))
  }

  // MARK: Storing

  /// Why an image would not be kept, before anything is done.
  package func shouldCache(_ image: CachedImage) -> StoreRefusal? {
    if image.isPurged { return .purged }
    if let refusal = image.freshness.refusal { return refusal }
    if image.facts.width < 1 || image.facts.height < 1 { return .notAPicture }
    let cost = image.cost
    return cost > limits.maxEntry || cost > limits.preferred ? .tooLarge : nil
  }

  /// Keeps an image in place of an earlier one under its key, and makes room for it.
  package func add(_ image: CachedImage, at now: Instant) -> StoreAnswer {
    if let refusal = shouldCache(image) { return .refused(refusal) }
    image.lastAccess = now
    if let place = place(of: image.key) {
      guard image.serial >= list.image(at: place).serial else { return .refused(.olderThanStored) }
      replace(at: place, by: image)
    } else {
      insert(image)
    }
    return .stored(evicted: makeRoom())
  }

  private func insert(_ image: CachedImage) {
    let tags = tags(
      of: image.key.url.text, identifier: image.key.identifier, scope: image.key.scope)
    let place = list.nextPlace
    let entry = RecencyList.Entry(
      image: image, tag: tags.key, urlTag: tags.url, number: log.append(place: place),
      cost: image.cost)
    list.insert(entry)
    table.insert(tags.key, place)
    image.place = place
    usage += entry.cost
    count += 1
    counts.insertions += 1
  }

  private func replace(at place: Int, by image: CachedImage) {
    let old = list[place]
    usage -= old.cost
    if let image = old.image { takeBack(image) }
    old.image?.place = nil
    list.replaceImage(at: place, by: image, cost: image.cost)
    list.touch(place)
    image.place = place
    usage += image.cost
    counts.replacements += 1
  }

  private func makeRoom() -> Removal {
    var removal = Removal()
    guard usage > limits.capacity else { return removal }
    while usage > limits.preferred, let place = list.leastRecent {
      removal.count(list[place].cost)
      take(place)
    }
    sweepLog()
    counts.evictions += removal.entries
    counts.evictedBytes += removal.bytes
    return removal
  }

  // MARK: Changing what is stored

  /// Moves an image's bytes into a memfd, when they are not in one, and counts them as lent.
  ///
  /// When descriptors are short they stay where they are: who asks gets a memfd of its own.
  package func makeLendable(_ image: CachedImage) -> Removal {
    var evicted = Removal.none
    if !image.payload.isShareable, let shared = try? image.payload.shareable(toKeep: true) {
      image.payload = shared
      evicted = recount(image)
    }
    if image.place != nil, !image.isLent {
      image.isLent = true
      lentBytes += image.payload.count
    }
    return evicted
  }

  /// Keeps the daemon's encoded answer with an image.
  package func keepReply(_ pieces: [UInt8], with image: CachedImage) -> Removal {
    image.replyPieces = pieces
    return recount(image)
  }

  private func recount(_ image: CachedImage) -> Removal {
    guard let place = image.place else { return .none }
    usage += image.cost - list[place].cost
    list.setCost(image.cost, at: place)
    return makeRoom()
  }

  // MARK: Removing

  /// Takes an image out; nil when there was none.
  package func remove(_ key: CacheKey) -> CachedImage? {
    guard let place = place(of: key) else { return nil }
    defer { sweepLog() }
    return take(place)
  }

  /// Takes everything out, whatever its age.
  package func removeAll() -> Removal {
    var removal = Removal()
    for place in list.places {
      guard let image = list[place].image else { continue }
      removal.count(list[place].cost)
      image.place = nil
    }
    list = RecencyList()
    table = PlaceTable()
    usage = 0
    lentBytes = 0
    count = 0
    sweepLog()
    counts.purges += 1
    return removal
  }

  /// Takes the image at a place out of everything but the log, where it leaves a gap.
  @discardableResult
  func take(_ place: Int) -> CachedImage {
    let image = list.image(at: place)
    usage -= list[place].cost
    takeBack(image)
    count -= 1
    table.remove(list[place].tag, place)
    list.remove(place)
    image.place = nil
    return image
  }

  /// What was lent is no longer the tier's to count.
  private func takeBack(_ image: CachedImage) {
    if image.isLent { lentBytes -= image.payload.count }
    image.isLent = false
  }

  func sweepLog() {
    log.sweep(live: count) { list.isLive($0) }
  }
}
