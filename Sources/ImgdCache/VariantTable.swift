// Which answers to a name are stored, and which requests they fit.
//
// A name is a URL, with an identifier and its user, or with credentials: a key without the headers of a
// request. An answer with `Vary` is stored under the key of the request that fetched it, and fits others,
// too. For each name the table has up to eight known answers, the newest first.
//
// It holds no pictures, and is not told when one leaves its tier: an answer that a look-up no longer finds
// is forgotten then. It is bounded in bytes: above the bound, the name that was asked for longest ago goes
// with all its answers. Those on disk are learnt again when the name is asked for.

/// The answers to names that have more than one.
package struct VariantTable {
  /// How many answers are kept for one name.
  package static let mostOfOne = 8

  /// The changes to the tiers that a change of the table requires.
  package struct Changes {
    /// The keys of images that have to leave both tiers.
    package fileprivate(set) var displaced: [CacheKey] = []
    /// The keys of images that are not known any more: one that is only in memory would escape the limit.
    package fileprivate(set) var forgotten: [CacheKey] = []
  }

  private struct Name {
    let key: CacheKey
    var variants: [Variant] = []
    /// Whether all answers on disk are among them.
    var isComplete: Bool

    /// Takes in an answer that was stored before, after all that are not older.
    mutating func add(_ variant: Variant) {
      let place = variants.firstIndex { variant.isNewer(than: $0) } ?? variants.count
      variants.insert(variant, at: place)
    }

    var cost: Int { VariantTable.bookkeeping + key.cost + variants.reduce(0) { $0 + $1.cost } }
  }

  /// A flat charge for each name, for its places in the tables and its arrays.
  private static let bookkeeping = 192

  private let mostBytes: Int
  package private(set) var bytes = 0
  private var names: [Name?] = []
  private var free: [Int] = []
  private var order = PlaceChain()
  private var table = PlaceTable()
  private let seed = KeyHasher.randomSeed()

  package init(mostBytes: Int = 8 << 20) { self.mostBytes = mostBytes }

  package var count: Int { names.count - free.count }

  /// Whether all answers to a name are known, including those on disk.
  package func isComplete(_ base: CacheKey) -> Bool { place(of: base).flatMap { names[$0]?.isComplete } ?? false }

  /// The known answers to a name, the newest first.
  package func variants(of base: CacheKey) -> [Variant] { place(of: base).flatMap { names[$0]?.variants } ?? [] }

  /// The known answers that a request may be shown; its fields are computed only if there are any answers.
  package mutating func fitting(_ base: CacheKey, _ fields: () -> SentFields) -> [Variant] {
    guard count > 0, let place = place(of: base), let variants = names[place]?.variants else { return [] }
    order.moveToFront(place)
    let fields = fields()
    return variants.filter { $0.vary.fits(fields) }
  }

  private func place(of base: CacheKey) -> Int? { table.place(tag(of: base)) { names[$0]?.key == base } }

  private func tag(of base: CacheKey) -> UInt32 {
    var hasher = KeyHasher(seed)
    hasher.combine(base.url.text)
    if let identifier = base.identifier { hasher.combine(identifier) }
    base.variant?.hash(into: &hasher)
    base.scope?.hash(into: &hasher)
    return PlaceTable.tag(hasher.finish())
  }

  /// Takes in an answer that is about to be stored, in place of earlier ones that are found by the very same
  /// requests; nil if a later transfer has overtaken it.
  ///
  /// `isComplete` says that, if the name is new to the table, the disk has no answers to it.
  package mutating func add(_ image: CachedImage, isComplete: Bool) -> Changes? {
    var changes = Changes()
    guard let base = image.base, let new = Variant(image) else { return changes }
    let rivals = variants(of: base).filter { $0.variant == new.variant || $0.vary.isFound(like: new.vary) }
    guard !rivals.contains(where: { $0.isNewer(than: new) }) else { return nil }
    let place = place(of: base) ?? insert(Name(key: base, isComplete: isComplete))
    order.moveToFront(place)
    change(place) { name in
      name.variants.removeAll { $0.variant == new.variant || $0.vary.isFound(like: new.vary) }
      // In front of all others, even if it was asked for earlier.
      name.variants.insert(new, at: 0)
    }
    changes.displaced = rivals.filter { $0.variant != new.variant }.map { $0.key(below: base) }
    displaceOldPlain(by: new, at: place, &changes)
    cut(place, &changes)
    makeRoom(&changes)
    return changes
  }

  /// A request with a name and nothing else is answered from the key of the name without a look here: so
  /// the answer under that key goes when a newer one fits such a request.
  private mutating func displaceOldPlain(by new: Variant, at place: Int, _ changes: inout Changes) {
    guard let base = names[place]?.key, new.variant != base.variant, new.fitsPlain,
      variants(at: place).first?.variant == new.variant,
      variants(at: place).contains(where: { $0.variant == base.variant })
    else { return }
    change(place) { name in name.variants.removeAll { $0.variant == base.variant } }
    changes.displaced.append(base)
  }

  /// Takes in the answers to a name that the disk has. They come newest first, which decides between those
  /// stored in the same second.
  package mutating func learn(_ found: [Variant], of base: CacheKey) -> Changes {
    var changes = Changes()
    guard let place = place(of: base) ?? (found.isEmpty ? nil : insert(Name(key: base, isComplete: true))) else {
      return changes
    }
    for variant in found.sorted(by: { $0.isNewer(than: $1) }) {
      let known = variants(at: place)
      guard !known.contains(where: { $0.variant == variant.variant }) else { continue }
      guard !known.contains(where: { $0.vary.isFound(like: variant.vary) }) else {
        changes.displaced.append(variant.key(below: base))
        continue
      }
      change(place) { $0.add(variant) }
    }
    order.moveToFront(place)
    change(place) { $0.isComplete = true }
    cut(place, &changes)
    makeRoom(&changes)
    return changes
  }

  /// Forgets an answer that no tier has any more.
  package mutating func remove(_ variant: Variant, of base: CacheKey) {
    guard let place = place(of: base) else { return }
    change(place) { name in name.variants.removeAll { $0.variant == variant.variant && $0.serial <= variant.serial } }
    removeIfEmpty(place)
  }

  /// Forgets the answers that an image replaces although no tier keeps it, and returns their keys.
  package mutating func removeRivals(of image: CachedImage) -> [CacheKey] {
    guard let base = image.base, let place = place(of: base) else { return [] }
    let rivals = variants(at: place).filter { $0.vary.isFound(like: image.vary) && $0.serial <= image.serial }
    for rival in rivals { remove(rival, of: base) }
    return rivals.map { $0.key(below: base) }
  }

  /// Examines the next names from a place on: of those that a purge was about, forgets the answers that no tier
  /// holds any more. Returns the place to go on from; nil at the end.
  package mutating func prune(_ filter: PurgeFilter, from start: Int, most: Int, isHeld: (CacheKey, Variant) -> Bool)
    -> Int?
  {
    let end = min(start + most, names.count)
    for place in min(start, end)..<end {
      guard let base = names[place]?.key, filter.matchesName(base, tags: []) else { continue }
      change(place) { name in
        name.variants.removeAll { !isHeld(base, $0) }
        name.isComplete = false
      }
      removeIfEmpty(place)
    }
    return end < names.count ? end : nil
  }

  private func variants(at place: Int) -> [Variant] { names[place]?.variants ?? [] }

  private mutating func cut(_ place: Int, _ changes: inout Changes) {
    guard let base = names[place]?.key, variants(at: place).count > Self.mostOfOne else { return }
    let old = variants(at: place)[Self.mostOfOne...]
    changes.displaced += old.map { $0.key(below: base) }
    change(place) { name in name.variants.removeLast(old.count) }
  }

  private mutating func makeRoom(_ changes: inout Changes) {
    while bytes > mostBytes, let place = order.oldest(in: 0), let base = names[place]?.key {
      changes.forgotten += variants(at: place).map { $0.key(below: base) }
      remove(place)
    }
  }

  private mutating func insert(_ name: Name) -> Int {
    let place = free.popLast() ?? names.count
    if place == names.count { names.append(name) } else { names[place] = name }
    order.putInFront(place)
    table.insert(tag(of: name.key), place)
    bytes += name.cost
    return place
  }

  private mutating func change(_ place: Int, _ body: (inout Name) -> Void) {
    guard var name = names[place] else { return }
    bytes -= name.cost
    body(&name)
    bytes += name.cost
    names[place] = name
  }

  private mutating func removeIfEmpty(_ place: Int) { if variants(at: place).isEmpty { remove(place) } }

  private mutating func remove(_ place: Int) {
    guard let name = names[place] else { return }
    bytes -= name.cost
    names[place] = nil
    order.remove(place)
    table.remove(tag(of: name.key), place)
    free.append(place)
  }
}

/// One of the stored answers to a name, which depends on headers of its request.
package struct Variant: Sendable {
  /// The headers that it depends on; its `place` is not nil.
  package let vary: VaryOutcome
  /// The part of its key that is not its name.
  let variant: KeyVariant?
  /// Seconds since 1970.
  package let storedAt: Int64
  /// The number of the transfer that brought it; 0 if that was before this process began.
  package let serial: UInt64

  /// Nil for an image that is found under its own key alone.
  init?(_ image: CachedImage) {
    guard image.vary.place != nil else { return nil }
    (vary, variant) = (image.vary, image.variant)
    (storedAt, serial) = (image.storedAtWall, image.serial)
  }

  /// Nil for a record that makes no sense, or that is found under its own key alone.
  init?(_ record: StoredRecord) {
    guard let vary = VaryOutcome(record), vary.place != nil else { return nil }
    self.vary = vary
    variant = record.variant
    storedAt = record.storedAt
    serial = 0
  }

  /// Its key, completed from the key of its name.
  package func key(below base: CacheKey) -> CacheKey {
    variant == base.variant
      ? base : CacheKey(url: base.url, identifier: base.identifier, variant: variant, scope: base.scope)
  }

  /// Whether an image found under its key is still this answer: another one may have taken its place.
  package func isStill(_ image: CachedImage) -> Bool { vary.isFound(like: image.vary) }

  /// Whether a request with a name and nothing else may be shown it.
  package var fitsPlain: Bool { vary.fits(SentFields([])) }

  /// Whether it is newer than another: by their transfers in this process, and then by the times of storing.
  func isNewer(than other: Variant) -> Bool { (serial, storedAt) > (other.serial, other.storedAt) }

  var cost: Int { MemoryLayout<Variant>.stride + vary.cost }
}

extension CacheKey {
  /// The key of the name to which an image with this key may be one of several answers.
  package func base(owner: KeyVariant?) -> CacheKey {
    owner == variant ? self : CacheKey(url: url, identifier: identifier, variant: owner, scope: scope)
  }
}

extension CachedImage {
  /// The key of the name to which it is one of several answers; nil if it is found under its own key alone.
  package var base: CacheKey? { vary.place.map { key.base(owner: $0.owner) } }
}
