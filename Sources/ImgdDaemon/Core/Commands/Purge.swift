// One purge, from its order to its end, in parts.
//
//   a row of the list: in force ─► the disk is told ─► memory ─► answers without a picture ─► bad pictures
//
// From its first step on nothing that it means is shown or kept, wherever that is (`PurgeList`): in memory, on its
// way from an origin, the disk or a decoder, or with a client that collects it later. What follows cleans the tiers
// and counts. A download that has begun since is left alone.
//
// Those that keep copies of pictures elsewhere hear of every purge, even of one that found nothing here: a
// picture may have been too large for a tier, or have been evicted. The purge is over when all have been told.

import ImgdCache
import ImgdSystem
import ImgdWire

final class Purge {
  /// The parts of the core that have what a purge may mean. This keeps none of them alive.
  struct Places {
    unowned let downloader: Downloader
    unowned let pictures: PictureTiers
    unowned let renditions: Renditions
    unowned let hub: EventHub
  }

  private let filter: PurgeFilter
  private let scope: PurgeRequest.Scope
  private let marksOnly: Bool
  private let downloader: Downloader
  private let pictures: PictureTiers
  private let renditions: Renditions
  private let loop: EventLoop
  private let ending: PurgeEnding
  private var stage = Stage.asked

  private enum Stage {
    case asked
    case memory(PurgeList.Row, MemoryTier.Sweep)
    case answers(PurgeList.Row, MemoryTier.Sweep, fromMemory: Removal)
    case bad(PurgeList.Row, BadPictures.Purge, fromMemory: Removal)
  }

  /// `then` is told how many were in memory, and what the disk tier says.
  init(
    _ filter: PurgeFilter, from scope: PurgeRequest.Scope = .all, isSoft: Bool, in places: Places, loop: EventLoop,
    then: @escaping (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  ) {
    self.filter = filter
    self.scope = scope
    marksOnly = isSoft
    downloader = places.downloader
    pictures = places.pictures
    renditions = places.renditions
    self.loop = loop
    ending = PurgeEnding(scope, as: isSoft ? .marked : filter.matchesAll ? .removedAll : .purged, places.hub, then)
  }

  /// Carries out another part; returns whether there is more.
  func step() -> Bool {
    switch stage {
    case .asked: begin()
    case .memory(let row, let sweep): clean(sweep, after: row)
    case .answers(let row, let sweep, let removal): forget(sweep, after: row, removal)
    case .bad(let row, let purge, let removal): return forget(purge, after: row, removal)
    }
    return true
  }

  private func begin() {
    let row = pictures.purges.add(filter, isSoft: marksOnly, from: scope.tiers, at: loop.now)
    if filter.matchesAll, !marksOnly, scope != .disk { downloader.dropPartials() }
    if scope != .memory { pictures.disk.purge(row, then: ending.finishDisk) }
    stage = scope == .disk ? bad(after: row, .none) : .memory(row, pictures.memory.beginSweep(after: row))
  }

  private func clean(_ sweep: MemoryTier.Sweep, after row: PurgeList.Row) {
    var sweep = sweep
    let hasMore = pictures.memory.goOn(with: &sweep)
    stage =
      hasMore ? .memory(row, sweep) : .answers(row, pictures.answers.beginSweep(after: row), fromMemory: sweep.removal)
  }

  private func forget(_ sweep: MemoryTier.Sweep, after row: PurgeList.Row, _ removal: Removal) {
    var sweep = sweep
    let hasMore = pictures.answers.goOn(with: &sweep)
    stage = hasMore ? .answers(row, sweep, fromMemory: removal) : bad(after: row, removal + sweep.removal)
  }

  /// A picture that is purged is tried again when it is next asked for.
  private func bad(after row: PurgeList.Row, _ removal: Removal) -> Stage {
    .bad(row, renditions.beginPurge(filter), fromMemory: removal)
  }

  private func forget(_ purge: BadPictures.Purge, after row: PurgeList.Row, _ removal: Removal) -> Bool {
    var purge = purge
    if renditions.goOn(with: &purge) {
      stage = .bad(row, purge, fromMemory: removal)
      return true
    }
    if scope != .disk { pictures.endSweep(after: row) }
    ending.finishMemory(removal)
    return false
  }
}

/// The end of a purge: memory is clean, and the disk has answered.
private final class PurgeEnding {
  private let scope: PurgeRequest.Scope
  private let change: CacheChange
  private let hub: EventHub
  private let then: (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  private var fromMemory: Removal?
  private var onDisk: PurgeOutcome?

  init(
    _ scope: PurgeRequest.Scope, as change: CacheChange, _ hub: EventHub,
    _ then: @escaping (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  ) {
    self.scope = scope
    self.change = change
    self.hub = hub
    self.then = then
    if scope == .memory { onDisk = .done(.none) }
  }

  func finishMemory(_ removal: Removal) {
    fromMemory = removal
    if scope != .disk { hub.purge(change, removal, tier: .memory) }
    endIfOver()
  }

  func finishDisk(_ outcome: PurgeOutcome) {
    onDisk = outcome
    endIfOver()
  }

  /// The event of memory comes first.
  private func endIfOver() {
    guard let fromMemory, let onDisk else { return }
    let removal = onDisk.removal
    if scope == .disk || removal.entries > 0 { hub.purge(change, removal, tier: .disk) }
    hub.whenTold { [then] in then(fromMemory, onDisk) }
  }
}

extension PurgeOutcome {
  /// What was removed, as far as the disk tier knows by now.
  var removal: Removal { if case .done(let removal) = self { removal } else { .none } }
}

extension PurgeRequest.Scope {
  fileprivate var tiers: PurgeList.Scope {
    switch self {
    case .all: .all
    case .memory: .memory
    case .disk: .disk
    }
  }
}
