// The images that are held in memory, within a capacity.
//
// When the tier holds more than its capacity, images go until at most the preferred amount is left: by going
// below the capacity it makes room for more than the next image. Of several users, only those lose any who have more than
// an equal share of the capacity, he who has most first. The bytes of images go first whose forms are here and that were
// not used themselves since, then the least recently used images. An image costs the bytes that it really holds, and the
// sum of all costs is kept up to date instead of being counted anew; whatever changes a cost goes through here.
//
// A tier belongs to one thread, the control loop's. It reports what happens by return values, and has no callbacks.

package import ImgdSystem

/// The images in memory, found by key, within a capacity.
package final class MemoryTier {
  /// How much a tier may hold, in bytes.
  package struct Limits: Sendable, Equatable {
    package let capacity: Int
    package let preferred: Int
    package let maxEntry: Int

    package init(capacity: Int, preferred: Int, maxEntry: Int) {
      precondition(0 <= preferred && preferred <= capacity, "the preferred amount is within the capacity")
      self.capacity = capacity
      self.preferred = preferred
      self.maxEntry = maxEntry
    }
  }

  /// The events since the start.
  package struct Counts: Sendable, Equatable {
    package internal(set) var hits = 0
    package internal(set) var misses = 0
    /// Misses that were answered by a download already under way.
    package internal(set) var coalesced = 0
    package internal(set) var insertions = 0
    package internal(set) var replacements = 0
    package internal(set) var evictions = 0
    package internal(set) var evictedBytes = 0
    /// Purges by filter and removals of everything, not the entries that went by them.
    package internal(set) var purges = 0
  }

  /// Some of a tier's images.
  package struct Page {
    package fileprivate(set) var images: [CachedImage] = []
    /// The cursor of the next page; nil after the last one.
    package fileprivate(set) var next: UInt64?
  }

  package private(set) var limits: Limits
  package internal(set) var counts = Counts()
  /// How often its images are used, by groups of them.
  package let uses = UseTallies()
  let images = ImageTable()
  let purges: PurgeList

  package init(limits: Limits, purges: PurgeList = PurgeList()) {
    self.limits = limits
    self.purges = purges
  }

  package var usage: Int { images.usage }

  package var count: Int { images.count }

  /// Bytes of images of which a descriptor has been handed out: while a client holds it, they stay in
  /// memory even if the image leaves the tier.
  package var lentBytes: Int { images.lentBytes }

  /// Bytes of decoded pictures, which can be made again from the encoded ones.
  package var pixelBytes: Int { images.pixelBytes }

  /// Takes new limits, and makes room at once where they are lower.
  package func apply(_ limits: Limits) -> Removal {
    self.limits = limits
    return makeRoom()
  }

  // MARK: Reading

  /// Whether room is being made and `trim` has to be called again.
  package private(set) var isTrimming = false

  /// The image for a request that names a canonical URL, perhaps an identifier, and nothing else, if it is
  /// fresh and so can be shown at once. With an identifier `variant` names its user.
  ///
  /// What is found goes last from now on; it is counted when it is shown.
  package func readyImage(for url: String, identifier: String?, variant: KeyVariant? = nil, at now: Instant)
    -> CachedImage?
  {
    guard let place = images.place(of: url, identifier: identifier, variant: variant, scope: nil) else { return nil }
    let image = images.image(at: place)
    guard image.hasBody, isInForce(image), image.isFresh(at: now), image.isFor(sent: []) else { return nil }
    touch(image, at: now)
    return image
  }

  /// The image for a URL alone, if it, or a form of it, can be shown at once; this does not count as a use.
  package func peekReady(_ url: Span<UInt8>, tag: UInt32? = nil, at now: Instant) -> CachedImage? {
    var found: CachedImage?
    _ = withReady(url, tag: tag, at: now) { image in
      found = image
      return true
    }
    return found
  }

  /// Lends that image for the duration of a call in which none may leave the tier; nil if there is none.
  @inline(__always) package func withReady(
    _ url: Span<UInt8>, tag: UInt32?, at now: Instant, _ body: (CachedImage) -> Bool
  ) -> Bool? {
    // It stays, as its tier keeps it.
    guard let reference = unsafe images.reference(ofPlain: url, tag: tag) else { return nil }
    return unsafe reference._withUnsafeGuaranteedRef { image in
      guard isInForce(image), image.isFresh(at: now), image.isFor(sent: []) else { return nil }
      return body(image)
    }
  }

  /// The image under a key, with its bytes or without; this does not count as a use.
  package func peek(_ key: CacheKey) -> CachedImage? {
    guard let place = images.place(of: key) else { return nil }
    let image = images.image(at: place)
    return isInForce(image) ? image : nil
  }

  /// Whether an image that is still here has not been made void by a purge. This takes one comparison unless there
  /// was a new purge.
  @inline(__always) func isInForce(_ image: CachedImage) -> Bool {
    image.checked == purges.newest || purges.verdict(onEntry: image) != .purged
  }

  /// The tag of a URL alone, for `prefetch` and `peekReady`.
  package func tag(ofPlain url: Span<UInt8>) -> UInt32 { images.tag(ofPlain: url) }

  /// Has the processor fetch at the same time what the looks for several URLs will need, instead of one after the other
  /// when each of them waits for it.
  package func prefetch(_ tags: Span<UInt32>) { images.prefetch(tags) }

  /// A form of an image that is here too, if it is known where; this does not count as a use.
  package func form(_ form: String, of image: CachedImage) -> CachedImage? {
    guard let known = image.forms.first(where: { $0.form == form }),
      let made = images.image(at: known.place, digest: known.digest), isInForce(made)
    else { return nil }
    return made
  }

  /// The forms of an image that are here too, as far as it is known where; this does not count as a use.
  package func forms(of image: CachedImage) -> [(form: String, image: CachedImage)] {
    image.forms.compactMap { known in form(known.form, of: image).map { (known.form, $0) } }
  }

  /// Whether there is a whole image without credentials under a URL, fresh or not; this changes no count.
  package func holds(_ url: String, identifier: String?, variant: KeyVariant? = nil) -> Bool {
    let place = images.place(of: url, identifier: identifier, variant: variant, scope: nil)
    return place.map { images.image(at: $0).hasBody } ?? false
  }

  /// Counts the use of an image that was found without counting one; it may have had to go in the meantime.
  package func noteUse(of image: CachedImage, at now: Instant) {
    counts.hits += 1
    uses.countUse(of: image)
    touch(image, at: now)
  }

  /// Lets an image go last that is about to be shown: what is kept with it for that may be more than there is room for.
  package func touch(_ image: CachedImage, at now: Instant) {
    guard let place = image.place else { return }
    images.touch(place, image)
    image.lastAccess = now
  }

  /// Counts a look-up that found no usable image.
  package func noteMiss() { counts.misses += 1 }

  /// Counts a miss that shares a download with an earlier one.
  package func noteCoalesced() { counts.coalesced += 1 }

  /// The most images that one page or one step of a sweep looks at: a prefix that hardly any image has must not
  /// hold up the loop.
  static let mostExamined = 256
  /// The most places that one page, or one step of a purge, passes over without looking at an image.
  static let mostPassed = 8_192
  /// The most images that one step of a purge removes.
  static let mostRemoved = 32
  /// The most images that one step removes once the tier is below its capacity.
  static let mostTrimmed = 512

  /// Lists images from a cursor on, or from the beginning without one; this does not count as a use.
  ///
  /// A cursor is the place after the last one that was looked at. It stays valid whatever is added and
  /// removed meanwhile. An image that is there all the time keeps its place, so it is listed exactly once.
  /// A page may be short, even empty, and still have a next one.
  ///
  /// With a URL it lists the images of that URL, and passes over the others without looking at them.
  package func page(
    after cursor: UInt64?, limit: Int, prefix: String? = nil, containing part: URLPart? = nil, url: CanonicalURL? = nil
  ) -> Page {
    var page = Page()
    let urlTag = url.map(images.urlTag)
    let places = images.places
    var place = min(Int(clamping: cursor ?? 0), places.upperBound)
    let end = min(place + Self.mostPassed, places.upperBound)
    var examined = 0
    while place < end, page.images.count < limit, examined < Self.mostExamined {
      if let image = images.image(at: place, of: urlTag, upTo: .max) {
        examined += 1 + (part == nil ? 0 : image.withURL { $0.count } / URLPart.bytesOfOneEntry)
        let isMeant = (prefix.map(image.begins(with:)) ?? true) && (part.map(image.has) ?? true)
        if isMeant, isInForce(image) { page.images.append(image) }
      }
      place += 1
    }
    if place < places.upperBound { page.next = UInt64(place) }
    return page
  }

  // MARK: Storing

  /// Why an image would not be kept, without changing anything; nil if it would be.
  package func shouldCache(_ image: CachedImage) -> StoreRefusal? {
    purges.verdict(on: image, in: .memory) == .purged ? .purged : refusal(of: image)
  }

  private func refusal(of image: CachedImage) -> StoreRefusal? {
    if let refusal = image.freshness.refusal { return refusal }
    if image.byteCount > 0, image.facts.width < 1 || image.facts.height < 1 { return .notAPicture }
    let cost = image.cost
    let most = min(limits.maxEntry, limits.preferred, ImageTable.mostCharged)
    return cost > most ? .tooLarge : nil
  }

  /// Keeps an image in place of an earlier one under its key, and makes room for it.
  package func add(_ image: CachedImage, at now: Instant) -> StoreAnswer {
    let verdict = purges.verdict(on: image, in: .memory)
    if verdict == .purged { return .refused(.purged) }
    if let refusal = refusal(of: image) { return .refused(refusal) }
    if image.takesReserve { return .refused(.noDescriptor) }
    if verdict == .stale { image.markStale() } else { image.checked = purges.newest }
    image.lastAccess = now
    if let place = images.place(of: image) {
      let former = images.image(at: place)
      // The very bytes that went may come back from disk, where nobody knows which transfer brought them.
      let bringsBody = !former.hasBody && former.checksum == image.checksum
      guard bringsBody || image.serial >= former.serial else { return .refused(.olderThanStored) }
      if !former.forms.isEmpty, former.checksum == image.checksum { image.forms = former.forms }
      image.takeClaims(of: former)
      images.replace(at: place, by: image)
      counts.replacements += 1
    } else {
      images.insert(image)
      counts.insertions += 1
    }
    return .stored(evicted: makeRoom())
  }

  /// Above the capacity, begins to make room up to the preferred usage.
  private func makeRoom() -> Removal {
    isTrimming = isTrimming || images.usage > limits.capacity
    return isTrimming ? trim() : .none
  }

  /// Goes on making room: what exceeds the capacity goes at once, the rest in parts.
  package func trim() -> Removal {
    var removal = Removal()
    while images.usage > limits.preferred, images.usage > limits.capacity || removal.entries < Self.mostTrimmed,
      let cost = images.giveUpNext(sharing: limits.capacity)
    {
      removal.count(cost)
    }
    isTrimming =
      images.usage > limits.preferred && images.accounts.fullest(sharing: limits.capacity) != nil
    counts.evictions += removal.entries
    counts.evictedBytes += removal.bytes
    return removal
  }

  /// Gives up some decoded pictures, the least recently used first: each holds a descriptor, and descriptors
  /// are running out.
  package func giveUpPixels() -> Removal {
    var removal = Removal()
    while removal.entries < Self.mostRemoved, let cost = images.takeOldestPixels()?.cost { removal.count(cost) }
    counts.evictions += removal.entries
    counts.evictedBytes += removal.bytes
    return removal
  }

  /// Takes out the image that goes next, for an owner that makes room itself and has to know what goes.
  package func takeNext() -> CachedImage? { images.takeVictim()?.image }

  // MARK: Changing what is stored

  /// Moves an image's bytes into a memfd, unless they are in one, and counts them as lent.
  ///
  /// When descriptors are short the bytes stay where they are, and each client gets a memfd of its own.
  package func makeLendable(_ image: CachedImage) -> Removal {
    var evicted = Removal.none
    if !image.isShareable, let shared = try? image.payload.shareable(toKeep: true) {
      image.payload = shared
      evicted = recount(image)
    }
    images.lend(image)
    return evicted
  }

  /// Keeps the fields that all of the daemon's answers with an image share, encoded.
  package func keepReply(_ facts: [UInt8], with image: CachedImage) -> Removal {
    image.keepReply(facts)
    return recount(image)
  }

  /// Keeps the end of such an answer when it tells the image's path; it is forgotten when the image gets another file.
  package func keepPathEnding(_ ending: [UInt8], with image: CachedImage) -> Removal {
    image.keepPathEnding(ending)
    return recount(image)
  }

  /// Keeps the end of such an answer when it brings a descriptor.
  package func keepLentEnding(_ ending: [UInt8], with image: CachedImage) -> Removal {
    image.lentEnding = ending
    return recount(image)
  }

  /// Keeps the origin's answer with an image as the daemon's answers have it.
  package func keepResponse(_ encoded: [UInt8], with image: CachedImage) -> Removal {
    image.encodedResponse = encoded
    return recount(image)
  }

  /// Keeps with an image what a client is told that has it.
  package func keepConfirmation(_ confirmation: ImageConfirmation, with image: CachedImage) -> Removal {
    image.confirmation = confirmation
    return recount(image)
  }

  /// Notes with an image where a form of it is, so that it is found without its key.
  package func keepPlace(of made: CachedImage, as form: String, with image: CachedImage) -> Removal {
    guard let place = made.place, let digest = made.digest else { return .none }
    let others = image.forms.filter { $0.form != form }.prefix(MadeForm.most - 1)
    image.forms = [MadeForm(form: form, place: place, digest: digest)] + others
    if let place = image.place { images.makeSource(image, at: place) }
    return recount(image)
  }

  /// Keeps a few bytes that stand for the picture with an image.
  package func describe(_ image: CachedImage, as description: [UInt8]) -> Removal {
    image.description = description
    return recount(image)
  }

  /// Adds tags to an image.
  package func add(_ tags: [String], to image: CachedImage) -> Removal {
    image.tags = EntryClaims.tags(EntryTags.union(image.tags, tags), of: image.owner)
    return recount(image)
  }

  func recount(_ image: CachedImage) -> Removal {
    guard let place = image.place else { return .none }
    images.recount(place)
    return makeRoom()
  }

  // MARK: Removing

  /// Takes an image out; nil when there was none.
  package func remove(_ key: CacheKey) -> CachedImage? {
    guard let place = images.place(of: key) else { return nil }
    return images.takeImage(at: place).image
  }
}
