// A purge by a user who may remove no others' pictures (`Control.Purge=own`).
//
//   downloads ─► memory ─► answers without a picture ─► disk, page by page ─► answered when all of that is durable
//
// It takes the user's claim away from each entry that matches, and removes those that nobody else has asked for. It is
// no row of the list of purges: what it means depends on claims, which a row does not know.

import ImgdCache
import ImgdSystem
import ImgdWire

final class OwnPurge {
  private static let mostAtOnce = 16

  private let filter: PurgeFilter
  private let scope: PurgeRequest.Scope
  private let isSoft: Bool
  private let uid: UInt32
  private let jobs: FetchJobs
  private let pictures: PictureTiers
  private let loop: EventLoop
  private let askedAt: Instant
  private let ending: PurgeEnding
  /// Other hosts are not told of it; but what is removed here must not come back from their server.
  private let fleet: FleetTier
  private var stage = Stage.downloads(after: 0)
  /// The downloads that have been looked at: many fetches may wait for one.
  private var seen: Set<UInt64> = []
  private var fromMemory = Removal()
  private var fromDisk = Removal()
  /// What has gone wrong on disk, or has to be done there later.
  private var onDisk: PurgeOutcome?
  /// The walk itself, and the changes on disk that are under way.
  private var open = 1

  private enum Stage {
    case downloads(after: UInt64)
    case memory(after: UInt64?)
    case answers(after: UInt64?)
  }

  init(
    _ filter: PurgeFilter, from scope: PurgeRequest.Scope, isSoft: Bool, by uid: UInt32, of jobs: FetchJobs,
    in places: Purge.Places, _ loop: EventLoop, _ then: @escaping (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  ) {
    self.filter = filter
    self.scope = scope
    self.isSoft = isSoft
    self.uid = uid
    self.jobs = jobs
    pictures = places.pictures
    fleet = places.fleet
    self.loop = loop
    askedAt = loop.now
    ending = PurgeEnding(scope, as: isSoft ? .marked : .purged, isOfOneUser: true, places.hub, then)
  }

  /// Carries out another part; returns whether there is more. The disk's pages come by themselves after that.
  func step() -> Bool {
    switch stage {
    case .downloads(let number): stage = voidDownloads(after: number)
    case .memory(let cursor):
      let page = pictures.memory.page(after: cursor, limit: Self.mostAtOnce, prefix: filter.prefix, url: filter.url)
      for image in page.images where isMeant(image) { release(image) }
      stage = page.next.map { .memory(after: $0) } ?? .answers(after: nil)
    case .answers(let cursor):
      let tier = pictures.answers.tier
      let page = tier.page(after: cursor, limit: Self.mostAtOnce, prefix: filter.prefix, url: filter.url)
      for answer in page.images where scope != .disk && isMeant(answer) {
        fromMemory.count(answer.cost)
        if let left = answer.claims.without(uid) {
          _ = tier.set(left, of: answer)
        } else {
          release(answer, in: tier)
          forget(answer.key)
        }
      }
      if let next = page.next {
        stage = .answers(after: next)
        return true
      }
      if !isSoft, scope != .disk { pictures.onMemoryPurge() }
      ending.finishMemory(fromMemory)
      if scope == .memory { close() } else { readDisk(after: nil) }
      return false
    }
    return true
  }

  private func isMeant(_ image: CachedImage) -> Bool {
    image.claims.include(uid) && filter.matches(image, at: askedAt)
  }

  /// Takes claims on what is on its way, and makes void what nobody else waits for.
  private func voidDownloads(after number: UInt64) -> Stage {
    let part = jobs.part(after: number, most: Self.mostAtOnce)
    for job in part.members where job.uid == uid {
      guard let download = job.download, seen.insert(download.serial).inserted,
        filter.matchesName(download.mergeKey.key, tags: download.tags)
      else { continue }
      download.giveUpClaim(of: uid, in: scope.tiers, isSoft: isSoft)
    }
    guard let next = part.end else {
      return scope == .disk ? .answers(after: nil) : .memory(after: nil)
    }
    return .downloads(after: next)
  }

  /// Takes the claim on a picture in memory away, on disk as well.
  private func release(_ image: CachedImage) {
    let (bytes, isOnDisk) = (image.cost, pictures.disk.holds(image))
    guard let left = image.claims.without(uid) else {
      release(image, in: pictures.memory)
      fromMemory.count(bytes)
      forget(image.key)
      if scope != .memory { removeFromDisk(image.key) }
      return
    }
    // It counts either way: nobody is to learn whether others have asked for it.
    fromMemory.count(bytes)
    if isOnDisk, scope == .all { countOnDisk(image.key) }
    // Others are shown it as before, wherever it is.
    guard scope == .all, !isSoft else { return }
    change(image, to: left)
  }

  private func forget(_ key: CacheKey) {
    if scope == .all, let digest = key.digest { fleet.remove(digest) }
  }

  private func release(_ image: CachedImage, in tier: MemoryTier) {
    if isSoft { image.markStale() } else { tier.removeForGood(image) }
  }

  private func change(_ image: CachedImage, to claims: EntryClaims) {
    open += 1
    pictures.set(claims, of: image) { [self] in close() }
  }

  private func removeFromDisk(_ key: CacheKey) {
    open += 1
    pictures.disk.purge(key, isSoft: isSoft) { [self] outcome in
      if case .done(let removal) = outcome { fromDisk = fromDisk + removal } else { onDisk = outcome }
      close()
    }
  }

  /// Goes through the entries on disk, as `entries` does.
  private func readDisk(after cursor: UInt64?) {
    pictures.disk.page(after: cursor, limit: Self.mostAtOnce, of: filter) { [self] page in
      for entry in page.entries where entry.claims.include(uid) && filter.matches(entry, wall: WallClock.seconds) {
        if let key = entry.key { release(entry, key) }
      }
      if page.next == nil { close() } else { readDisk(after: page.next) }
    }
  }

  private func release(_ entry: EntryDetails, _ key: CacheKey) {
    // What memory knows of it is newer than its row, and so is what is on its way here.
    let newer = pictures.memory.peek(key).flatMap { $0.hasBody ? $0 : nil } ?? pictures.disk.imageOnItsWay(key)
    if let image = newer, scope == .all {
      // It may have risen from here in the meantime; one that was marked is still there.
      if !isSoft, isMeant(image) { release(image) }
      return
    }
    guard entry.claims.without(uid) != nil else {
      forget(key)
      return removeFromDisk(key)
    }
    countOnDisk(key)
    guard scope == .all, !isSoft else { return }
    open += 1
    let found = { [self] (image: CachedImage?) in
      if let image, let left = image.claims.without(uid) { change(image, to: left) }
      close()
    }
    pictures.disk.fetch(key, countsAsUse: false, then: found).passOn(to: found)
  }

  private func countOnDisk(_ key: CacheKey) {
    fromDisk.count(key.digest.flatMap(pictures.disk.ownership)?.allocated ?? 0)
  }

  /// Something is over. When all is, what was ordered is written before the sync that the answer waits for.
  private func close() {
    open -= 1
    if open == 0, scope != .memory { ending.finishDisk(onDisk ?? .done(fromDisk)) }
  }
}
