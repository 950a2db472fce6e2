// Answers of origins that are no pictures, in place of asking again: redirects, failures, and names that
// are unknown.
//
// An answer is an entry like a picture, with a key, header fields, tags and a freshness of its own, but
// without bytes, in a tier of its own beside the pictures: neither makes the other go. It is stored,
// confirmed, shown stale and purged as pictures are. What its origin wants remembered for long has a row
// in the index file as well; the rows are some of the tier's entries, never others.
//
// A name that cannot be looked up is nobody's answer, and is remembered for seconds.

import ImgdCache
import ImgdSystem

/// The remembered answers, within a capacity.
final class RememberedAnswers {
  /// The bytes of header fields that are kept with an answer: all that honest origins send.
  static let mostHeaderBytes = 2_048
  /// What all of them may hold, however much there may be of pictures.
  private static let mostBytes = 64 << 20
  private static let mostAtOnce = 256

  /// It makes no room by itself: whoever takes something out of it has to know what.
  private let tier = MemoryTier(
    limits: MemoryTier.Limits(capacity: .max, preferred: .max, maxEntry: .max))
  private(set) var capacity: Int
  private let turns: Turns
  private let loop: EventLoop
  private var unknownNames = NegativeCache<FetchFailure>()
  private var isTrimming = false

  init(turns: Turns, loop: EventLoop, settings: Configuration.Memory) {
    capacity = min(Self.mostBytes, settings.capacity)
    self.turns = turns
    self.loop = loop
  }

  func apply(_ settings: Configuration) {
    capacity = min(Self.mostBytes, settings.memory.capacity)
    trim()
  }

  var count: Int { tier.count + unknownNames.count }
  var bytes: Int { tier.usage + unknownNames.bytes }
  /// How often an answer was given in place of its origin's.
  var hits: Int { tier.counts.hits }

  // MARK: Finding

  /// The answer that a request got before, fresh or not.
  func find(_ key: MergeKey) -> CachedImage? {
    guard tier.count > 0, let answer = tier.peek(key.key), answer.isFor(sent: key.sent) else {
      return nil
    }
    return answer
  }

  /// Counts that an answer was given.
  func noteUse(of answer: CachedImage) {
    tier.noteUse(of: answer, at: loop.now)
  }

  // MARK: Keeping

  /// Keeps an answer in place of an earlier one under its key.
  func keep(_ answer: CachedImage) {
    guard answer.cost <= capacity else { return }
    while tier.usage + answer.cost > capacity { dropNext() }
    _ = tier.add(answer, at: loop.now)
  }

  /// Forgets the answer under a key that a later transfer has not brought: there is another one now.
  func remove(_ key: CacheKey, olderThan serial: UInt64) {
    guard tier.count > 0, let answer = tier.peek(key), answer.serial < serial else { return }
    _ = tier.remove(key)
  }

  private func dropNext() {
    _ = tier.takeNext()
  }

  /// Makes room after the capacity has become less, in parts.
  private func trim() {
    guard !isTrimming else { return }
    isTrimming = true
    turns.carryOut { [unowned self] in
      for _ in 0..<Self.mostAtOnce where tier.usage > capacity { dropNext() }
      isTrimming = tier.usage > capacity
      return isTrimming
    }
  }

  // MARK: Names

  /// The failure to look up the name of a URL's host, and how long ago that was.
  func unknownName(_ key: CacheKey) -> (failure: FetchFailure, age: Duration)? {
    unknownNames.find(key, at: loop.now).map { ($0.value, $0.age) }
  }

  /// Remembers that the name of a URL's host could not be looked up.
  func noteUnknownName(_ failure: FetchFailure, for key: CacheKey, lasting time: Duration) {
    unknownNames.note(failure, size: failure.cost, for: key, lasting: time, at: loop.now)
  }

  func forgetUnknownName(_ key: CacheKey) {
    unknownNames.forget(key)
  }

  // MARK: Removing

  /// Forgets all answers, in parts.
  func removeAll() {
    var purge = beginPurge(PurgeFilter(), marksOnly: false)
    turns.carryOut { [unowned self] in goOn(with: &purge) }
  }

  /// Begins to remove the answers that a purge is about, or to mark them stale.
  func beginPurge(_ filter: PurgeFilter, marksOnly: Bool) -> MemoryTier.Purge {
    unknownNames.remove(where: filter, at: loop.now)
    return tier.beginPurge(filter, soft: marksOnly)
  }

  /// Goes on for some answers; tells whether there are more.
  func goOn(with purge: inout MemoryTier.Purge) -> Bool {
    tier.goOn(with: &purge, at: loop.now)
  }
}
