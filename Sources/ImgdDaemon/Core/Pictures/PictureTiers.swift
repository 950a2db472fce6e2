// The pictures that the daemon has, in two tiers, and beside them the answers that are not pictures.
//
// A look-up goes to memory, then to disk; a picture that is read from disk rises into memory. What is stored,
// confirmed, purged or gone at its origin changes both tiers here and nowhere else.

import ImgdCache
import ImgdSystem
import ImgdWire

final class PictureTiers {
  let memory: MemoryTier
  let disk: DiskTier
  /// What was purged from either tier. It is asked before a picture is shown or kept.
  let purges: PurgeList
  let answers: RememberedAnswers
  let variants: Variants
  let latest = LatestPictures()
  private let hub: EventHub
  private let turns: Turns
  let loop: EventLoop
  private var settings: Configuration
  /// Room is being made in memory, in parts.
  private var isTrimming = false
  /// The part of its capacity that the memory tier may use, since memory was last short.
  private var share = MemoryShare.whole
  /// Called when a purge has removed pictures from memory: no copy may be left elsewhere either.
  var onMemoryPurge: () -> Void = {}

  init(disk: DiskTier, hub: EventHub, turns: Turns, loop: EventLoop, settings: Configuration) {
    purges = disk.purges
    memory = MemoryTier(limits: MemoryTier.Limits(settings.memory), purges: purges)
    self.disk = disk
    answers = RememberedAnswers(purges: purges, turns: turns, loop: loop, settings: settings.memory)
    variants = Variants(memory: memory, disk: disk, turns: turns)
    self.hub = hub
    self.turns = turns
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration) {
    // Each failure was given its time when it was noted, but a new rule has to apply at once.
    if settings.http.negativeFreshness != self.settings.http.negativeFreshness { answers.removeAll() }
    answers.apply(settings)
    self.settings = settings
    limitMemory()
    disk.apply(DiskLimits(settings.disk))
  }

  func holdMemory(to share: MemoryShare) {
    self.share = share
    limitMemory()
  }

  /// What the memory tier may hold while memory is not short.
  var configuredMemory: Int { MemoryTier.Limits(settings.memory).capacity }

  private func limitMemory() {
    let limits = MemoryTier.Limits(settings.memory).held(to: share)
    noteEviction(memory.apply(limits))
  }

  // MARK: Looking

  /// A fresh picture in memory for a request that names nothing but a URL and an identifier, with
  /// the fields that all answers share encoded.
  func readyImage(for request: FetchRequest, _ variant: KeyVariant?) -> CachedImage? {
    guard
      let image = memory.readyImage(
        for: request.url, identifier: request.identifier, variant: variant, at: loop.now)
    else { return nil }
    if !image.hasReply { noteEviction(memory.keepReply(ShownPicture.preparedFields(of: image), with: image)) }
    return image
  }

  /// A fresh picture in memory to which remembered redirects lead from a plain request's URL.
  func readyImage(redirectedFrom url: String, atMost limit: Int) -> CachedImage? {
    answers.endOfRedirects(from: url, atMost: limit).flatMap {
      memory.readyImage(for: $0, identifier: nil, at: loop.now)
    }
  }

  /// A fresh picture on disk for which the tier has at hand all that the answer needs; it rises into memory after the
  /// answer. With `owner` only an entry of that user is at hand.
  func readyHit(for request: FetchRequest, _ variant: KeyVariant?, _ digest: KeyDigest, owner: UInt32?) -> ReadyHit? {
    guard !request.http, let form = form(of: request.delivery),
      !memory.holds(request.url, identifier: request.identifier, variant: variant),
      let hit = disk.readyHit(
        digest, of: request.url, identifier: request.identifier, as: form, owner: owner)
    else { return nil }
    memory.noteMiss()
    if request.keepsInMemory, let url = try? CanonicalURL.parse(request.url) {
      let key = CacheKey(url: url, identifier: request.identifier, variant: variant, knownDigest: digest)
      raise(key, bytes: hit.details.bytes)
    }
    return hit
  }

  private func form(of delivery: Delivery) -> ReadyHit.Form? {
    switch delivery {
    case .none: .facts
    case .path: .path
    case .fd: .descriptor
    case .inline: .bytes(atMost: settings.control.maxInline)
    case .pixels: nil
    }
  }

  private func raise(_ key: CacheKey, bytes: Int) {
    guard bytes <= memory.limits.maxEntry, bytes <= memory.limits.preferred else { return }
    _ = disk.fetch(key, countsAsUse: false) { [unowned self] image in
      guard let image, memory.peek(key) == nil else { return }
      keepInMemory(image)
    }
  }

  /// Looks for the picture that a request may be shown, fresh or not: the newest that fits of those that depend on the
  /// request, or the one under its own key. `counts` is false for a look that does not count as a look-up.
  ///
  /// `rise` turns what is found into what the request sees.
  func find(_ key: MergeKey, counts: Bool, then: @escaping (Sighting?) -> Void) -> Look<Sighting?> {
    guard let shared = key.shared else { return findOne(key, counts: counts, then: then) }
    if let image = inMemory(key), !isOutdated(image, for: key) { return .now(.inMemory(image)) }
    return findOne(shared, counts: counts) { [unowned self] in then(chosen($0, for: key)) }.map { chosen($0, for: key) }
  }

  /// The answer for everybody that was looked for, or a newer one that is for a request's credentials alone.
  private func chosen(_ sighting: Sighting?, for key: MergeKey) -> Sighting? {
    let shared = (sighting?.image).flatMap { key.admits($0) ? $0 : nil }
    return newer(inMemory(key), shared).map { .onDisk($0) }
  }

  private func findOne(_ key: MergeKey, counts: Bool, then: @escaping (Sighting?) -> Void) -> Look<Sighting?> {
    let own = { [unowned self] in findOwn(key, counts: counts, then: then) }
    let look = variants.find(key, counts: counts) { sighting in
      if sighting == nil { own().passOn(to: then) } else { then(sighting) }
    }
    if case .now(nil) = look { return own() }
    return look
  }

  private func findOwn(_ key: MergeKey, counts: Bool, then: @escaping (Sighting?) -> Void) -> Look<Sighting?> {
    if let image = underOwnKey(key) { return .now(.inMemory(image)) }
    if counts { memory.noteMiss() }
    let sighting = { (image: CachedImage?) in image.map { Sighting.onDisk($0) } }
    return disk.fetch(key.key, countsAsUse: counts) { then(sighting($0)) }.map(sighting)
  }

  /// Looks on disk for the bytes of a picture that memory has without them; what is found there may have none either.
  func findBytes(
    of image: CachedImage, for key: MergeKey, keeping: Bool, counts: Bool, then: @escaping (DeliveredImage?) -> Void
  ) -> Look<DeliveredImage?> {
    let risen = { [unowned self] (found: CachedImage?) -> DeliveredImage? in
      guard let found, found.hasBody else { return found.map { DeliveredImage(image: $0, source: .disk) } }
      return rise(.onDisk(found), for: key, keeping: keeping)
    }
    return disk.fetch(image.key, countsAsUse: counts) { then(risen($0)) }.map(risen)
  }

  /// Takes a picture from disk into memory, unless it, or a newer one, has got there in the meantime.
  func rise(_ sighting: Sighting?, for key: MergeKey, keeping: Bool) -> DeliveredImage? {
    if case .inMemory(let image) = sighting { return DeliveredImage(image: image, source: .memory) }
    if let image = risen(sighting, for: key) { return DeliveredImage(image: image, source: .memory) }
    guard let image = sighting?.image, key.admits(image) else { return nil }
    if keeping { keepInMemory(image) }
    return DeliveredImage(image: image, source: .disk)
  }

  /// The picture, or a newer one in its place, that has got into memory since it was looked for.
  private func risen(_ sighting: Sighting?, for key: MergeKey) -> CachedImage? {
    guard let image = sighting?.image else { return inMemory(key) }
    guard let risen = memory.peek(image.key), risen.hasBody || !image.hasBody, key.admits(risen) else { return nil }
    return risen
  }

  /// The picture that a request may be shown, if it is in memory; nothing is counted.
  func inMemory(_ key: MergeKey) -> CachedImage? {
    let own = variants.inMemory(key) { underOwnKey(key) }
    guard let shared = key.shared else { return own }
    let others = variants.inMemory(shared) { underOwnKey(shared) }
    return newer(own, others.flatMap { key.admits($0) ? $0 : nil })
  }

  /// Whether an answer for a request's credentials alone has been followed by one for everybody, as far as the disk can
  /// tell without reading.
  private func isOutdated(_ image: CachedImage, for key: MergeKey) -> Bool {
    guard let sharedKey = key.sharedKey, image.key.scope != nil, memory.peek(sharedKey) == nil,
      let entry = disk.glance(at: sharedKey, countsAsUse: false)
    else { return false }
    return entry.age < image.age(at: loop.now)
  }

  private func underOwnKey(_ key: MergeKey) -> CachedImage? {
    guard let image = memory.peek(key.key), image.isFor(sent: key.sent) else { return nil }
    return image
  }

  // MARK: Keeping

  /// Keeps a picture in the tiers in which it is wanted, and takes an older one out of the others of `tiers`: nobody
  /// may find that one afterwards. Tiers from which it was purged in the meantime stay as they are.
  func keep(_ image: CachedImage, wanted: Tiers, in tiers: Tiers) {
    guard latest.note(image) else { return memory.removeForGood(image) }
    var tiers = tiers
    if let former = image.digest.flatMap(disk.ownership), former.owner != image.owner, memory.peek(image.key) == nil {
      image.take(owner: former.owner, of: former.bytes)
    }
    for tier in Tier.allCases where purges.verdict(on: image, in: tier.scope) == .purged { tiers.remove(tier.scope) }
    let mayBeKept = image.freshness.refusal == nil
    // Without its bytes a picture stays in the tiers that already know it.
    let wanted = image.hasBody ? wanted : [.memory, .disk]
    guard variants.admit(image, isKept: mayBeKept && !wanted.isDisjoint(with: tiers), in: tiers) else { return }
    if tiers.contains(.memory) {
      if mayBeKept, wanted.contains(.memory) { keepInMemory(image) } else { _ = memory.remove(image.key) }
    }
    if tiers.contains(.disk) {
      if mayBeKept, wanted.contains(.disk) { keepOnDisk(image) } else { disk.remove(image.key) }
    }
  }

  private func keepInMemory(_ image: CachedImage) {
    switch memory.add(image, at: loop.now) {
    case .stored(let evicted):
      if image.hasBody { hub.stored(image, bytes: image.byteCount, tier: .memory) }
      noteEviction(evicted)
    case .refused(.purged): break
    case .refused: if memory.peek(image.key)?.serial ?? .max < image.serial { _ = memory.remove(image.key) }
    }
  }

  /// Reports an eviction; more room is made in parts if many pictures have to go for it.
  func noteEviction(_ evicted: Removal) {
    hub.cache(.evicted, evicted)
    guard memory.isTrimming, !isTrimming else { return }
    isTrimming = true
    turns.carryOut { [unowned self] in
      hub.cache(.evicted, memory.trim())
      isTrimming = memory.isTrimming
      return isTrimming
    }
  }

  /// A picture that its origin has confirmed keeps its file.
  private func keepOnDisk(_ image: CachedImage) {
    if disk.holds(image) { return disk.renew(image) }
    // Another answer has come in its place, with bytes.
    guard image.hasBody else { return }
    if let refusal = disk.add(image), refusal != .purged { disk.remove(image.key) }
  }

  /// Keeps an answer that is not a picture in place of the picture that was there before, and of an earlier answer.
  ///
  /// An origin in trouble says nothing about its picture, which may stand in for it.
  func keep(answer: CachedImage) {
    guard latest.permits(answer) else { return }
    let speaksOfPicture = answer.response.status < 500
    if speaksOfPicture { _ = remove(answer.key, olderThan: answer.serial) }
    guard speaksOfPicture || memory.peek(answer.key)?.isFresh(at: loop.now) != true else { return }
    answers.keep(answer)
  }

  // MARK: Removing

  /// Removes the pictures that a request would be shown, which their origin no longer has; those that a
  /// later transfer has brought stay.
  func remove(_ key: MergeKey, olderThan serial: UInt64) -> Bool {
    variants.remove(fitting: key, olderThan: serial)
    return remove(key.key, olderThan: serial)
  }

  /// Removes the picture under a key, unless a later transfer has brought it.
  func remove(_ key: CacheKey, olderThan serial: UInt64) -> Bool {
    guard memory.peek(key)?.serial ?? 0 < serial else { return false }
    _ = memory.remove(key)
    disk.remove(key)
    return true
  }

  /// Notes that memory no longer has anything that a purge means.
  func endSweep(after row: PurgeList.Row) {
    purges.endSweep(after: row)
    guard !row.isSoft else { return }
    variants.forget(row.filter)
    onMemoryPurge()
  }

  /// Empties the memory tier in parts, decoded pictures first and the remembered answers last. Pictures on their way
  /// are stored as if nothing had happened.
  func emptyMemory(then: @escaping (Removal) -> Void) {
    var pixels = memory.beginRemovalOfPixels()
    var others = memory.beginRemoval()
    var forgetting = answers.beginRemoval()
    turns.carryOut { [unowned self] in
      if memory.goOn(with: &pixels) || memory.goOn(with: &others) || answers.goOn(with: &forgetting) { return true }
      variants.forget(PurgeFilter())
      let removal = pixels.removal + others.removal
      hub.cache(.removedAll, removal)
      then(removal)
      return false
    }
  }
}

extension Tier {
  var scope: PurgeList.Scope {
    switch self {
    case .memory: .memory
    case .disk: .disk
    }
  }
}

extension PictureTiers {
  /// Promises a path to a picture's file, now or, where the disk is still busy with it, later.
  func lendFile(of image: CachedImage, mayStore: Bool, countsAsUse: Bool, then: @escaping (PictureLine.Path) -> Void) {
    let lending = disk.lend(image, mayStore: mayStore, countsAsUse: countsAsUse)
    guard lending == .waiting else { return then(PictureLine.Path(lending, of: image)) }
    // By then it may have been stored, but not verified yet.
    disk.whenSettled(image) { [unowned self] in
      lendFile(of: image, mayStore: mayStore, countsAsUse: countsAsUse, then: then)
    }
  }
}

/// A picture that was found, and whether memory or the disk has it.
enum Sighting {
  case inMemory(CachedImage)
  case onDisk(CachedImage)

  var image: CachedImage {
    switch self {
    case .inMemory(let image), .onDisk(let image): image
    }
  }
}
