// The answers that depend on headers of the request: which of them a request is shown.
//
//   request ─► its name ─► the answers to the name, the newest first ─► the first that fits and is there
//                 │ not all known                                          │ none
//                 ▼                                                        ▼
//              the rows of the name, once                         the request's own key
//
// An answer without `Vary` is under the key of its request, and found only by requests like it: clients may send any
// header, but none chooses what others are shown.

import ImgdCache
import ImgdWire

final class Variants {
  private static let mostAtOnce = 64
  /// More purges become one of everything: what is in memory stays known, and the disk is asked for the rest.
  private static let mostPurges = 8

  private let memory: MemoryTier
  private let disk: DiskTier
  private let turns: Turns
  private var table = VariantTable()
  /// Purges whose names are still to be forgotten, the first of them from `place` on.
  private var purges: [PurgeFilter] = []
  private var place = 0
  /// Look-ups that wait for the rows of a name.
  private var learning: [CacheKey: [() -> Void]] = [:]

  init(memory: MemoryTier, disk: DiskTier, turns: Turns) {
    self.memory = memory
    self.disk = disk
    self.turns = turns
  }

  var heldBytes: Int { table.bytes }

  /// Looks for the newest answer that fits a request, fresh or not; `then` gets it, or nil, if that takes time.
  func find(_ key: MergeKey, counts: Bool, then: @escaping (Sighting?) -> Void) -> Look<Sighting?> {
    // What an earlier process has left on disk is older than the request's own answer in memory.
    if isKnown(key.base) || memory.peek(key.key)?.isFor(sent: key.sent) == true {
      return look(fitting(key)[...], for: key, counts: counts, then: then)
    }
    learn(key.base) { [unowned self] in look(fitting(key)[...], for: key, counts: counts, then: then).passOn(to: then) }
    return .later
  }

  /// The newest answer that fits a request, if it is in memory; `own` is asked where none fits.
  func inMemory(_ key: MergeKey, orElse own: () -> CachedImage?) -> CachedImage? {
    guard let first = fitting(key).first else { return own() }
    guard let image = memory.peek(first.key(below: key.base)), first.isStill(image) else { return nil }
    return image
  }

  /// An answer with the tiers that have it, as far as that is known at once.
  struct Held {
    let key: CacheKey
    let variant: Variant
    let tiers: [Tier]
  }

  /// Calls back with the answers to a name that are in a tier, the newest first.
  func list(_ base: CacheKey, then: @escaping ([Held]) -> Void) {
    let list = { [unowned self] in
      then(table.variants(of: base).map { held($0, of: base) }.filter { !$0.tiers.isEmpty })
    }
    if isKnown(base) { list() } else { learn(base, then: list) }
  }

  private func held(_ variant: Variant, of base: CacheKey) -> Held {
    let key = variant.key(below: base)
    let image = memory.peek(key)
    let isOther = image.map { !variant.isStill($0) } ?? false
    let tiers: [Tier] = isOther ? [] : (image == nil ? [] : [.memory]) + (disk.mayHold(key) ? [.disk] : [])
    return Held(key: key, variant: variant, tiers: tiers)
  }

  /// The answers that fit a request and are newer than the one under its own key that depends on nothing.
  private func fitting(_ key: MergeKey) -> [Variant] {
    let fitting = table.fitting(key.base) { key.fields }
    guard !fitting.isEmpty else { return [] }
    if let own = memory.peek(key.key), own.vary == .none {
      return Array(fitting.prefix { ($0.serial, $0.storedAt) > (own.serial, own.storedAtWall) })
    }
    guard let storedAt = disk.storedAt(key.key) else { return fitting }
    return Array(fitting.prefix { $0.storedAt >= storedAt })
  }

  private func look(
    _ choices: ArraySlice<Variant>, for key: MergeKey, counts: Bool, then: @escaping (Sighting?) -> Void
  ) -> Look<Sighting?> {
    var choices = choices
    while let choice = choices.popFirst() {
      let name = choice.key(below: key.base)
      if let image = memory.peek(name) {
        if choice.isStill(image) { return .now(.inMemory(image)) }
      } else if disk.mayHold(name) {
        if counts { memory.noteMiss() }
        switch fetch(choice, under: name, orElse: choices, for: key, counts: counts, then: then) {
        case .later: return .later
        case .now(let image): if let image, choice.isStill(image) { return .now(.onDisk(image)) }
        }
      }
      table.remove(choice, of: key.base)
    }
    return .now(nil)
  }

  /// Has an answer read from disk; if it is gone, the next one is looked for.
  private func fetch(
    _ choice: Variant, under name: CacheKey, orElse others: ArraySlice<Variant>, for key: MergeKey, counts: Bool,
    then: @escaping (Sighting?) -> Void
  ) -> Look<CachedImage?> {
    disk.fetch(name, countsAsUse: counts) { [unowned self] image in
      if let image, choice.isStill(image) { return then(.onDisk(image)) }
      table.remove(choice, of: key.base)
      look(others, for: key, counts: counts, then: then).passOn(to: then)
    }
  }

  private func isKnown(_ base: CacheKey) -> Bool { table.isComplete(base) || !disk.mayHaveVariants(of: base) }

  /// Learns of the answers that the disk has; look-ups for one name share the reading.
  private func learn(_ base: CacheKey, then: @escaping () -> Void) {
    learning[base, default: []].append(then)
    guard learning[base]?.count == 1 else { return }
    disk.variants(of: base) { [unowned self] found in
      carryOut(table.learn(found, of: base))
      var waiting = learning.removeValue(forKey: base)?[...] ?? []
      turns.start {
        for _ in 0..<Turns.waitersAtOnce { waiting.popFirst()?() }
        return !waiting.isEmpty
      }
    }
  }

  // MARK: Answers come and go

  /// Takes in an answer that is kept, or comes in place of another; false for one that a later one has overtaken.
  func admit(_ image: CachedImage, isKept: Bool, in tiers: Tiers) -> Bool {
    guard let base = image.base, !tiers.isEmpty else { return true }
    guard isKept else {
      leave(table.removeRivals(of: image).filter { $0 != image.key })
      return true
    }
    let isComplete = !disk.mayHaveVariants(of: base)
    guard let changes = table.add(image, isComplete: isComplete) else { return false }
    carryOut(changes)
    return true
  }

  /// Takes in an answer that an earlier process has left in memory.
  func inherit(_ image: CachedImage) {
    if let changes = table.add(image, isComplete: false) { carryOut(changes) }
  }

  /// Removes the answers that fit a request, except those of later transfers.
  func remove(fitting key: MergeKey, olderThan serial: UInt64) {
    for variant in table.fitting(key.base, { key.fields }) where variant.serial < serial {
      table.remove(variant, of: key.base)
      leave([variant.key(below: key.base)])
    }
  }

  private func carryOut(_ changes: VariantTable.Changes) {
    leave(changes.displaced)
    for key in changes.forgotten where !disk.mayHold(key) { _ = memory.remove(key) }
  }

  private func leave(_ keys: [CacheKey]) {
    for key in keys {
      _ = memory.remove(key)
      disk.remove(key)
    }
  }

  // MARK: Purges

  /// Forgets, in parts, the answers that a purge was about and that memory no longer has.
  func forget(_ filter: PurgeFilter) {
    guard table.count > 0 else { return }
    purges.append(filter)
    if purges.count > Self.mostPurges { (purges, place) = ([purges[0], PurgeFilter()], place) }
    guard purges.count == 1 else { return }
    turns.carryOut { [unowned self] in
      let next = table.prune(purges[0], from: place, most: Self.mostAtOnce) { base, variant in
        memory.peek(variant.key(below: base)).map(variant.isStill) ?? false
      }
      place = next ?? 0
      if next == nil { purges.removeFirst() }
      return !purges.isEmpty
    }
  }
}
