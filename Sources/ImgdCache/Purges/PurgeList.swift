// The purges of this host, its own and those heard from other hosts, in the order in which they came.
//
// Each purge has a number, and numbers rise. A picture carries the number of the last purge that it was checked
// against. Before it is shown or stored, the list is asked about later ones. So a purge holds from the moment its row
// is added, wherever the pictures are. Sweeping the tiers afterwards only makes room, and counts what went.
//
// The disk tier checks its entries against purges of its own, which are also rows of the index file and have their
// own numbers (`PendingPurges`).

package import ImgdSystem

/// The purges up to now, found by the pictures that they match.
package final class PurgeList {
  /// The tiers that a purge is about.
  package struct Scope: OptionSet, Sendable {
    package let rawValue: UInt8
    package static let memory = Scope(rawValue: 1)
    package static let disk = Scope(rawValue: 2)
    package static let all: Scope = [.memory, .disk]

    package init(rawValue: UInt8) { self.rawValue = rawValue }
  }

  /// One purge.
  package struct Row: Sendable {
    package let number: UInt64
    package let filter: PurgeFilter
    package let isSoft: Bool
    package let scope: Scope
    package let askedAt: Instant

    /// The purge is about pictures that were stored before this moment; nil if it does not matter when.
    ///
    /// Last uses and freshness change, so the tiers find out themselves which of their entries such a purge is about.
    /// Of the pictures on their way to the disk, it covers all that were stored before it was asked for.
    fileprivate var limit: Instant? {
      filter.asksForState ? askedAt : filter.olderThan.map { askedAt + (.zero - $0) }
    }
  }

  /// How many purges are remembered. A picture that was last compared with an older one counts as purged.
  static let most = 10_000
  static let mostBytes = 16 << 20
  /// How long purges are remembered: no picture is on its way for longer.
  static let longest = Duration.seconds(3_600)

  /// The number of the last purge; 0 before the first.
  package private(set) var newest: UInt64 = 0
  /// Purges up to this number have been forgotten.
  private var floor: UInt64 = 0
  private var rows = Fifo<Row>()
  private var rowBytes = 0
  private var memory = PurgeTable()
  private var disk = PurgeTable()
  /// The purges after which the memory tier is still being cleaned, the oldest first.
  private var unswept: [UInt64] = []

  package init() {}

  /// The memory that it takes, roughly.
  package var bytes: Int { rowBytes + memory.bytes + disk.bytes }

  /// Adds a purge, which is in force from now on.
  package func add(_ filter: PurgeFilter, isSoft: Bool, from scope: Scope, at now: Instant) -> Row {
    newest += 1
    let row = Row(number: newest, filter: filter, isSoft: isSoft, scope: scope, askedAt: now)
    rows.append(row)
    rowBytes += filter.roughBytes
    let limit = row.limit
    if scope.contains(.memory) {
      unswept.append(newest)
      if !filter.asksForState { memory.add(filter, isSoft: isSoft, number: newest, storedBefore: limit) }
    }
    if scope.contains(.disk) { disk.add(filter, isSoft: isSoft, number: newest, storedBefore: limit) }
    while let oldest = rows.first, isTooMuch || now - oldest.askedAt > Self.longest { forgetOldest() }
    return row
  }

  /// Notes that the memory tier no longer has pictures that a purge matches.
  package func endSweep(after row: Row) { unswept.removeAll { $0 == row.number } }

  private var isTooMuch: Bool { rows.count > Self.most || bytes > Self.mostBytes }

  private func forgetOldest() {
    guard let oldest = rows.popFirst() else { return }
    rowBytes -= oldest.filter.roughBytes
    floor = oldest.number
    memory.forget(oldest.filter, upTo: floor)
    disk.forget(oldest.filter, upTo: floor)
  }

  /// What the purges of some tiers after a number do to a picture; `storedAt` is nil for one that is not stored yet.
  package func verdict(on key: CacheKey, tags: [String], in scope: Scope, after number: UInt64, storedAt: Instant?)
    -> PurgeVerdict
  {
    guard number < newest else { return .untouched }
    guard number >= floor else { return .purged }
    var verdict = PurgeVerdict.untouched
    if scope.contains(.memory) { verdict = memory.verdict(on: key, tags: tags, after: number, storedAt: storedAt) }
    guard scope.contains(.disk), verdict != .purged else { return verdict }
    let onDisk = disk.verdict(on: key, tags: tags, after: number, storedAt: storedAt)
    return onDisk == .untouched ? verdict : onDisk
  }

  /// What the purges of some tiers since an image was last compared do to it.
  package func verdict(on image: CachedImage, in scope: Scope) -> PurgeVerdict {
    guard !image.isPurged else { return .purged }
    guard image.checked < newest else { return .untouched }
    return verdict(on: image.key, tags: image.tags, in: scope, after: image.checked, storedAt: image.storedAt)
  }

  /// Whether, after purges that came while an image was on its way, no tier may keep it.
  package func isPurgedEverywhere(_ image: CachedImage) -> Bool {
    verdict(on: image, in: .memory) == .purged && verdict(on: image, in: .disk) == .purged
  }

  /// What purges have done to an image in the memory tier, which may be void but not swept away yet. If none
  /// matches it, it carries the newest number from now on; if it is stale, it is marked.
  func verdict(onEntry image: CachedImage) -> PurgeVerdict {
    var verdict = PurgeVerdict.untouched
    if let first = unswept.first {
      verdict = self.verdict(
        on: image.key, tags: image.tags, in: .memory, after: max(image.checked, first - 1), storedAt: image.storedAt)
    }
    switch verdict {
    case .untouched: image.checked = newest
    case .stale: image.markStale()
    case .purged: break
    }
    return verdict
  }
}
