// Answers of origins that are not pictures, remembered to avoid asking again: redirects, failures, unknown names.
//
// An answer is an entry like a picture, but without bytes, in a tier of its own: neither displaces the other. It is
// stored, confirmed, shown stale and purged as pictures are. A restart forgets it.
//
// A name that cannot be looked up is nobody's answer, and is remembered for seconds.

import ImgdCache
import ImgdSystem

final class RememberedAnswers {
  /// As many bytes of header fields as honest origins send. Fields that decide about the answer may take more.
  private static let mostHeaderBytes = 2_048
  /// The bytes of the table of answers that depend on headers of the request.
  private static let mostVariantBytes = 2 << 20
  /// What all of them may hold together, however much the pictures may.
  private static let mostBytes = 64 << 20
  private static let mostAtOnce = 256

  /// It makes no room itself, so that entries are removed in parts.
  let tier: MemoryTier
  private(set) var capacity: Int
  private var variants = VariantTable(mostBytes: mostVariantBytes)
  private let turns: Turns
  private let loop: EventLoop
  var unknownNames = UnknownNames()
  private var isTrimming = false

  init(purges: PurgeList, turns: Turns, loop: EventLoop, settings: Configuration.Memory) {
    tier = MemoryTier(limits: MemoryTier.Limits(capacity: .max, preferred: .max, maxEntry: .max), purges: purges)
    capacity = min(Self.mostBytes, settings.capacity)
    self.turns = turns
    self.loop = loop
  }

  func apply(_ settings: Configuration) {
    capacity = min(Self.mostBytes, settings.memory.capacity)
    trim()
  }

  var count: Int { tier.count + unknownNames.count }
  var bytes: Int { tier.usage + unknownNames.bytes + variants.bytes }
  /// How often an answer was given in place of its origin's.
  var hits: Int { tier.counts.hits }

  /// The answer that a request got before, fresh or not.
  func find(_ key: MergeKey) -> CachedImage? {
    guard tier.count > 0 else { return nil }
    let own = findOne(key)
    guard let shared = key.shared else { return own }
    return newer(own, findOne(shared).flatMap { key.admits($0) ? $0 : nil })
  }

  private func findOne(_ key: MergeKey) -> CachedImage? {
    let own = tier.peek(key.key).flatMap { $0.isFor(sent: key.sent) ? $0 : nil }
    let fitting = variants.fitting(key.base) { key.fields }.lazy.compactMap { [tier] variant in
      tier.peek(variant.key(below: key.base)).flatMap { variant.isStill($0) ? $0 : nil }
    }
    return newer(own, fitting.first)
  }

  /// The header fields of an answer that are kept.
  static func fitting(_ headers: HeaderList) -> HeaderList {
    let isUsual = StoredHeaders.haveRoom(headers, within: mostHeaderBytes)
    return StoredHeaders.fitting(headers, within: isUsual ? mostHeaderBytes : StoredHeaders.mostKept)
  }

  /// Where fresh redirects lead from a plain request's URL; nil where none is known, or more than `limit` are.
  func endOfRedirects(from url: String, atMost limit: Int) -> String? {
    guard tier.count > 0 else { return nil }
    var end = url
    for hops in 0...limit {
      guard let answer = tier.peekReady(end.utf8.span, at: loop.now) else { return hops > 0 ? end : nil }
      guard let target = answer.redirectTarget else { return nil }
      tier.noteUse(of: answer, at: loop.now)
      end = target
    }
    return nil
  }

  func noteUse(of answer: CachedImage) { tier.noteUse(of: answer, at: loop.now) }

  /// Adds the tags of a fetch to an answer that it is given.
  func add(_ tags: [String], to answer: CachedImage) {
    guard !answer.hasAll(tags) else { return }
    _ = tier.add(tags, to: answer)
    trim()
  }

  /// Keeps an answer in place of an earlier one under its key.
  func keep(_ answer: CachedImage) {
    guard answer.cost <= capacity else { return }
    if answer.base != nil {
      // Not one that a later answer has overtaken.
      guard let changes = variants.add(answer, isComplete: true) else { return }
      for key in changes.displaced + changes.forgotten { _ = tier.remove(key) }
    }
    while tier.usage + answer.cost > capacity, tier.takeNext() != nil {}
    _ = tier.add(answer, at: loop.now)
  }

  /// Forgets the answer under a key, unless a later transfer has brought it: there is another one now.
  func remove(_ key: CacheKey, olderThan serial: UInt64) {
    guard tier.count > 0, tier.peek(key)?.serial ?? 0 < serial else { return }
    _ = tier.remove(key)
  }

  /// Makes room in parts after the capacity has been reduced.
  private func trim() {
    guard !isTrimming else { return }
    isTrimming = true
    turns.carryOut { [unowned self] in
      for _ in 0..<Self.mostAtOnce where tier.usage > capacity { _ = tier.takeNext() }
      isTrimming = tier.usage > capacity
      return isTrimming
    }
  }

  /// Forgets all answers, in parts.
  func removeAll() {
    var removal = beginRemoval()
    turns.carryOut { [unowned self] in goOn(with: &removal) }
  }

  func beginRemoval() -> MemoryTier.Sweep {
    unknownNames.removeAll()
    variants = VariantTable(mostBytes: Self.mostVariantBytes)
    return tier.beginRemoval()
  }

  /// Begins to remove the answers that a purge means, or to mark them stale; unknown names are all forgotten.
  func beginSweep(after row: PurgeList.Row) -> MemoryTier.Sweep {
    unknownNames.removeAll()
    if row.filter.matchesAll, !row.isSoft { variants = VariantTable(mostBytes: Self.mostVariantBytes) }
    return tier.beginSweep(after: row)
  }

  /// Goes on with some answers; returns whether there are more. It is called until there are none.
  func goOn(with sweep: inout MemoryTier.Sweep) -> Bool { tier.goOn(with: &sweep) }
}

/// Names of hosts that could not be looked up: for seconds, a page that asks again and again finds them here.
///
/// When there are too many, all of them are forgotten, which costs one more look-up for each.
struct UnknownNames {
  private static let most = 4_096
  private static let mostBytes = 4 << 20
  /// The bytes of an entry that are not counted one by one: its place in a table that is partly empty.
  private static let bookkeeping = 256

  private struct Entry {
    let failure: FetchFailure
    let notedAt: Instant
    let end: Instant
    let cost: Int
  }

  private var entries: [CacheKey: Entry] = [:]
  private(set) var bytes = 0

  var count: Int { entries.count }

  mutating func note(_ failure: FetchFailure, for key: CacheKey, lasting time: Duration, at now: Instant) {
    forget(key)
    let cost = Self.bookkeeping + key.cost + failure.cost
    guard cost <= Self.mostBytes else { return }
    if entries.count >= Self.most || bytes + cost > Self.mostBytes { removeAll() }
    entries[key] = Entry(failure: failure, notedAt: now, end: now + time, cost: cost)
    bytes += cost
  }

  /// The failure under a key, and how long ago it was.
  mutating func find(_ key: CacheKey, at now: Instant) -> (failure: FetchFailure, age: Duration)? {
    guard !entries.isEmpty, let entry = entries[key] else { return nil }
    guard now < entry.end else {
      forget(key)
      return nil
    }
    return (entry.failure, max(now - entry.notedAt, .zero))
  }

  mutating func forget(_ key: CacheKey) {
    guard !entries.isEmpty, let entry = entries.removeValue(forKey: key) else { return }
    bytes -= entry.cost
  }

  mutating func removeAll() { (entries, bytes) = ([:], 0) }
}
