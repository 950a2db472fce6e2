// One purge, from its order to its end, in parts.
//
//   downloads under way ─► outcomes that are kept ─► memory ─► answers without a picture ─► bad pictures ─► disk
//
// A picture that is on its way moves in this direction only, or comes after the purge: what has gone past
// one place is met at a later one. A download that has begun since is not meant.
//
// Those that keep copies of pictures elsewhere hear of every purge, even of one that found nothing here: a
// picture may have been too large for a tier, or have been evicted. The purge is over when all have been told.

import ImgdCache
import ImgdSystem
import ImgdWire

final class Purge {
  private static let mostAtOnce = 64

  /// The parts of the core that have what a purge may mean. It keeps none of them alive.
  struct Places {
    unowned let jobs: FetchJobs
    unowned let downloader: Downloader
    unowned let pictures: PictureTiers
    unowned let renditions: Renditions
    unowned let hub: EventHub
  }

  private let filter: PurgeFilter
  private let scope: PurgeRequest.Scope
  private let marksOnly: Bool
  private let jobs: FetchJobs
  private let downloader: Downloader
  private let pictures: PictureTiers
  private let renditions: Renditions
  private let hub: EventHub
  private let loop: EventLoop
  private let then: (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  /// Fetches that come later are not meant.
  private let newest: UInt64
  private var position: UInt64 = 0
  private var stage = Stage.running

  private enum Stage {
    case running, waiting, kept
    case memory(MemoryTier.Purge)
    case answers(MemoryTier.Purge, fromMemory: Removal)
    case bad(BadPictures.Purge, fromMemory: Removal)
    case disk(fromMemory: Removal)
  }

  /// `then` is told how many were in memory, and what the disk tier says.
  init(
    _ filter: PurgeFilter, from scope: PurgeRequest.Scope = .all, isSoft: Bool, in places: Places,
    loop: EventLoop, then: @escaping (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  ) {
    self.filter = filter
    self.scope = scope
    marksOnly = isSoft
    jobs = places.jobs
    downloader = places.downloader
    pictures = places.pictures
    renditions = places.renditions
    hub = places.hub
    self.loop = loop
    self.then = then
    newest = jobs.newest
  }

  /// Goes on for a part; answers whether there is more.
  func step() -> Bool {
    switch stage {
    case .running:
      for download in downloader.running { mark(download, download.tags) }
      stage = .waiting
    case .waiting: if passWaiting() { stage = .kept }
    case .kept:
      dropKept()
      stage = scope == .disk ? bad(after: .none) : .memory(begun())
    case .memory(let purge): goOn(with: purge)
    case .answers(let purge, let removal): forget(purge, after: removal)
    case .bad(let purge, let removal): forget(purge, after: removal)
    case .disk(let removal):
      end(removal)
      return false
    }
    return true
  }

  // MARK: Downloads

  /// Its picture is delivered, and not stored in those tiers.
  private func mark(_ download: MergedDownload, _ tags: [String]) {
    if filter.matches(key: download.mergeKey.key, tags: tags) {
      download.purgedTiers.formUnion(scope.tiers)
    }
  }

  /// Marks what is in the queue by the tags of each who waits for it; answers whether that was all.
  private func passWaiting() -> Bool {
    let part = jobs.part(after: position, most: Self.mostAtOnce)
    for job in part.members where job.number <= newest {
      if let download = job.download { mark(download, job.request.tags) }
    }
    guard let end = part.end, end < newest else { return true }
    position = end
    return false
  }

  private func dropKept() {
    guard !marksOnly else { return }
    if scope != .memory {
      for image in jobs.keptImages { image.purge(filter, at: loop.now) }
    }
    if filter.matchesAll, scope != .disk { downloader.dropPartials() }
  }

  // MARK: Tiers

  private func begun() -> MemoryTier.Purge {
    pictures.beginPurge(filter, marksOnly: marksOnly, fromAllTiers: scope == .all)
  }

  private func goOn(with purge: MemoryTier.Purge) {
    var purge = purge
    let hasMore = pictures.memory.goOn(with: &purge, at: loop.now)
    guard !hasMore else { return stage = .memory(purge) }
    let answers = pictures.answers.beginPurge(filter, marksOnly: marksOnly)
    stage = .answers(answers, fromMemory: purge.removal)
  }

  private func forget(_ purge: MemoryTier.Purge, after removal: Removal) {
    var purge = purge
    let hasMore = pictures.answers.goOn(with: &purge)
    stage =
      hasMore
      ? .answers(purge, fromMemory: removal) : bad(after: removal + purge.removal)
  }

  /// A picture that is purged is tried anew when it is asked for again.
  private func bad(after removal: Removal) -> Stage {
    .bad(renditions.beginPurge(filter), fromMemory: removal)
  }

  private func forget(_ purge: BadPictures.Purge, after removal: Removal) {
    var purge = purge
    let hasMore = renditions.goOn(with: &purge)
    stage = hasMore ? .bad(purge, fromMemory: removal) : .disk(fromMemory: removal)
  }

  /// Memory and disk are over with it in the same step: nothing rises from there in between.
  ///
  /// The event comes first, since the disk may call back at once. No request is looked at before the step is over.
  private func end(_ fromMemory: Removal) {
    if scope != .disk { hub.purge(change, fromMemory, tier: .memory) }
    guard scope != .memory else {
      pictures.endPurge(filter, marksOnly: marksOnly)
      return hub.whenTold { [then] in then(fromMemory, .done(.none)) }
    }
    pictures.purgeDisk(filter, marksOnly: marksOnly) { [hub, change, scope, then] outcome in
      let removal = outcome.removal
      if scope == .disk || removal.entries > 0 { hub.purge(change, removal, tier: .disk) }
      hub.whenTold { then(fromMemory, outcome) }
    }
    if scope == .all { pictures.endPurge(filter, marksOnly: marksOnly) }
  }

  private var change: CacheChange {
    if marksOnly { .marked } else { filter.matchesAll ? .removedAll : .purged }
  }
}

extension PurgeOutcome {
  /// As far as the disk tier knows by now.
  var removal: Removal {
    if case .done(let removal) = self { removal } else { .none }
  }
}

extension PurgeRequest.Scope {
  fileprivate var tiers: Set<Tier> {
    switch self {
    case .all: [.memory, .disk]
    case .memory: [.memory]
    case .disk: [.disk]
    }
  }
}
