// The purges of this host, its own and those that it has heard from others, in the order in which they came.
//
// Each has a number, and numbers rise. What may be shown or stored carries the number of the last purge that it was
// compared with; whoever shows or stores it asks here for the later ones. So a purge is in force with the step
// that adds its row, wherever the pictures are that it means: those who sweep the tiers afterwards only make
// room, and count.
//
// The disk's entries are compared with their own purges, which are rows of the index file as well: there a number
// of its own tells which entries were there before (`PendingPurges`).

package import ImgdSystem

/// The purges up to now, found by what they mean.
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
  }

  /// So many are known one by one. What was compared only with earlier ones counts as purged.
  static let most = 10_000
  static let mostBytes = 16 << 20

  /// The number of the last purge; nought before the first.
  package private(set) var newest: UInt64 = 0
  /// Purges up to this number have been forgotten.
  private var floor: UInt64 = 0
  private var rows = Fifo<Row>()
  private var rowBytes = 0
  private var memory = PurgeTable()
  private var disk = PurgeTable()

  package init() {}

  /// The memory that it takes, roughly.
  package var bytes: Int { rowBytes + memory.bytes + disk.bytes }

  // MARK: Purges

  /// Adds a purge, which is in force from now on.
  package func add(
    _ filter: PurgeFilter, isSoft: Bool, from scope: Scope, at now: Instant
  ) -> Row {
    newest += 1
    let row = Row(number: newest, filter: filter, isSoft: isSoft, scope: scope, askedAt: now)
    rows.append(row)
    rowBytes += filter.roughBytes
    let limit = row.limit
    if scope.contains(.memory) {
      memory.add(filter, isSoft: isSoft, number: newest, storedBefore: limit)
    }
    if scope.contains(.disk) {
      disk.add(filter, isSoft: isSoft, number: newest, storedBefore: limit)
    }
    while rows.count > Self.most || bytes > Self.mostBytes { forgetOldest() }
    return row
  }

  private func forgetOldest() {
    guard let oldest = rows.popFirst() else { return }
    rowBytes -= oldest.filter.roughBytes
    floor = oldest.number
    memory.forget(oldest.filter, upTo: floor)
    disk.forget(oldest.filter, upTo: floor)
  }

  // MARK: Questions

  /// What the purges of some tiers after a number do to a picture; nil stands for the moment of storing of one that
  /// is not stored yet.
  package func verdict(
    on key: CacheKey, tags: [String], in scope: Scope, after number: UInt64, storedAt: Instant?
  ) -> PurgeVerdict {
    guard number < newest else { return .untouched }
    guard number >= floor else { return .purged }
    var verdict = PurgeVerdict.untouched
    if scope.contains(.memory) {
      verdict = memory.verdict(on: key, tags: tags, after: number, storedAt: storedAt)
    }
    guard scope.contains(.disk), verdict != .purged else { return verdict }
    let onDisk = disk.verdict(on: key, tags: tags, after: number, storedAt: storedAt)
    return onDisk == .untouched ? verdict : onDisk
  }
}

extension PurgeList.Row {
  /// Before when a picture has to be stored for the purge to be about it; nil where that does not matter.
  ///
  /// How long a picture has not been used, and whether it is fresh, its tier knows: elsewhere each that was stored by
  /// then counts as meant.
  fileprivate var limit: Instant? {
    guard filter.asksForState else { return filter.olderThan.map { askedAt + (.zero - $0) } }
    return askedAt
  }
}
