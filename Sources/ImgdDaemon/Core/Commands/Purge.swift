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
import ImgdProgram
import ImgdSystem
import ImgdWire

final class Purge {
  /// The parts of the core that have what a purge may mean. This keeps none of them alive.
  struct Places {
    unowned let downloader: Downloader
    unowned let pictures: PictureTiers
    unowned let renditions: Renditions
    unowned let hub: EventHub
    unowned let fleet: FleetTier
  }

  private let filter: PurgeFilter
  private let scope: PurgeRequest.Scope
  private let marksOnly: Bool
  /// Has the fleet's server forget what is removed here, where nothing else would tell that it is meant: a tag that came
  /// after a picture is known to this host alone.
  private let forget: ((KeyDigest) -> Void)?
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
    _ filter: PurgeFilter, from scope: PurgeRequest.Scope = .all, isSoft: Bool, forgetting: Bool = false,
    in places: Places, loop: EventLoop,
    then: @escaping (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  ) {
    self.filter = filter
    self.scope = scope
    marksOnly = isSoft
    forget = forgetting && filter.tag != nil ? { [unowned fleet = places.fleet] in fleet.remove($0) } : nil
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
    case .memory(let row, var sweep):
      let hasMore = pictures.goOn(with: &sweep)
      stage =
        hasMore
        ? .memory(row, sweep) : .answers(row, pictures.answers.beginSweep(after: row), fromMemory: sweep.removal)
    case .answers(let row, var sweep, let removal):
      let hasMore = pictures.answers.goOn(with: &sweep)
      stage = hasMore ? .answers(row, sweep, fromMemory: removal) : bad(after: row, removal + sweep.removal)
    case .bad(let row, var purge, let removal):
      guard renditions.bad.goOn(with: &purge) else {
        if scope != .disk { pictures.endSweep(after: row) }
        ending.finishMemory(removal)
        return false
      }
      stage = .bad(row, purge, fromMemory: removal)
    }
    return true
  }

  private func begin() {
    let row = pictures.purges.add(filter, isSoft: marksOnly, from: scope.tiers, at: loop.now)
    if filter.matchesAll, !marksOnly, scope != .disk { downloader.dropPartials() }
    if scope != .memory { pictures.disk.purge(row, onMatch: forget, then: ending.finishDisk) }
    stage = scope == .disk ? bad(after: row, .none) : .memory(row, sweep(of: pictures.memory, after: row))
  }

  private func sweep(of tier: MemoryTier, after row: PurgeList.Row) -> MemoryTier.Sweep {
    var sweep = tier.beginSweep(after: row)
    sweep.onMatch = forget.map { forget in { image in if let digest = image.key.digest { forget(digest) } } }
    return sweep
  }

  /// A picture that is purged is tried again when it is next asked for.
  private func bad(after row: PurgeList.Row, _ removal: Removal) -> Stage {
    .bad(row, renditions.bad.beginPurge(filter), fromMemory: removal)
  }
}

/// The end of a purge: memory is clean, and the disk has answered.
final class PurgeEnding {
  private let scope: PurgeRequest.Scope
  private let change: CacheChange
  private let isOfOneUser: Bool
  private let hub: EventHub
  private let then: (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  private var fromMemory: Removal?
  private var onDisk: PurgeOutcome?

  init(
    _ scope: PurgeRequest.Scope, as change: CacheChange, isOfOneUser: Bool = false, _ hub: EventHub,
    _ then: @escaping (_ memory: Removal, _ disk: PurgeOutcome) -> Void
  ) {
    self.scope = scope
    self.change = change
    self.isOfOneUser = isOfOneUser
    self.hub = hub
    self.then = then
    if scope == .memory { onDisk = .done(.none) }
  }

  /// What one user has purged of his own is told to all without numbers, which could say what it was.
  private func told(_ removal: Removal) -> Removal { isOfOneUser ? .none : removal }

  func finishMemory(_ removal: Removal) {
    fromMemory = removal
    if scope != .disk { hub.purge(change, told(removal), tier: .memory) }
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
    if scope == .disk || removal.entries > 0 { hub.purge(change, told(removal), tier: .disk) }
    hub.whenTold { [then] in then(fromMemory, onDisk) }
  }
}

extension PurgeOutcome {
  /// What was removed, as far as the disk tier knows by now.
  var removal: Removal { if case .done(let removal) = self { removal } else { .none } }
}

extension PurgeRequest.Scope {
  var tiers: PurgeList.Scope {
    switch self {
    case .all: .all
    case .memory: .memory
    case .disk: .disk
    }
  }
}

/// `purge`: removes pictures, or marks them stale.
final class PurgeCommand {
  private let places: Purge.Places
  private let access: Access
  private let jobs: FetchJobs
  private let fleet: FleetPurges
  private let origins: OriginRules
  private let turns: Turns
  private let loop: EventLoop

  init(_ parts: CoreParts, loop: EventLoop) {
    places = Purge.Places(
      downloader: parts.downloader, pictures: parts.pictures, renditions: parts.renditions, hub: parts.hub,
      fleet: parts.fleet)
    access = parts.access
    jobs = parts.jobs
    fleet = parts.fleetPurges
    origins = parts.origins
    turns = parts.turns
    self.loop = loop
  }

  /// How many purges of one client may wait for the disk before its next request waits for one of them.
  private static let mostWaiting = 64

  /// Removes what matches, and prevents what is on its way from being stored, even if the client goes. Its next
  /// request waits until nothing that matches is found any more. Other hosts are told when it is over here.
  ///
  /// Of a user who may not purge others' pictures it takes the claims away.
  func purge(_ purge: PurgeRequest, id: RequestID, from client: ReplyPlace) {
    do throws(WireError) {
      let isOwn = !access.mayPurgeEverything(by: client.peer)
      let filter = try PurgeFilter(purge, origins, byTagOf: isOwn ? client.peer.uid : nil)
      if isOwn, filter.namesNothing {
        throw .onlyForAdmins("a purge without url, tag, prefix, host or identifier is about the pictures of all users")
      }
      let ticket = client.standBy(id: id)
      client.hold()
      var isHeld = true
      let release = {
        if isHeld { client.release() }
        isHeld = false
      }
      let shared = purge.isForAllHosts && !isOwn ? fleet.note(filter, isSoft: purge.soft) : nil
      let then = { [fleet, places] (memory: Removal, disk: PurgeOutcome) in
        // Comes last, so that it covers what was written down about other hosts, too.
        let answer = { (sending: FleetSending?) in
          Self.sync(disk, of: purge.tier, in: places) { disk in
            client.resume(ticket) {
              Self.answer(purge, matchesAll: filter.matchesAll, memory, disk, sending, id: id, to: client)
            }
          }
        }
        release()
        guard let shared else { return answer(nil) }
        fleet.send(shared, then: answer)
      }
      let step =
        isOwn
        ? OwnPurge(filter, from: purge.tier, isSoft: purge.soft, by: client.peer.uid, of: jobs, in: places, loop, then)
          .step
        : Purge(
          filter, from: purge.tier, isSoft: purge.soft, forgetting: purge.isForAllHosts, in: places, loop: loop,
          then: then
        ).step
      turns.carryOut {
        if step() { return true }
        if !isOwn, client.standingCount < Self.mostWaiting { release() }
        return false
      }
    } catch { client.refuse(id: id, receipt: nil, error) }
  }

  /// Has what was done on disk outlive the loss of power.
  private static func sync(
    _ outcome: PurgeOutcome, of tier: PurgeRequest.Scope, in places: Purge.Places,
    then: @escaping (PurgeOutcome) -> Void
  ) {
    guard tier != .memory, case .done = outcome else { return then(outcome) }
    places.pictures.disk.sync { isOnDisk in then(isOnDisk ? outcome : .pending) }
  }

  private static func answer(
    _ purge: PurgeRequest, matchesAll: Bool, _ memory: Removal, _ disk: PurgeOutcome, _ sending: FleetSending?,
    id: RequestID, to client: ReplyPlace
  ) {
    if case .unrecorded(let reason, let isFull) = disk {
      return client.refuse(id: id, receipt: nil, .unrecordedPurge(reason, isFull: isFull))
    }
    let entries = memory.entries + disk.removal.entries
    if matchesAll, !purge.soft, entries > 0 {
      let place = purge.tier == .all ? "" : " in \(purge.tier)"
      client.log(.purge, "purged everything\(place), entries: \(entries)", .entries(entries))
    }
    client.reply(id: id) { line in
      line.field("removed", !purge.soft && entries > 0)
      line.object("memory") { $0.fields(["entries": memory.entries, "bytes": memory.bytes]) }
      if case .done(let disk) = disk {
        line.object("disk") { $0.fields(["entries": disk.entries, "bytes": disk.bytes]) }
      } else {
        line.field("disk", "pending")
      }
      if let sending { line.field("fleet", sending.rawValue) }
    }
  }
}

extension PurgeRequest {
  /// When a picture was last used and whether it is fresh are each host's own matter; so is a single tier.
  fileprivate var isForAllHosts: Bool { tier == .all && unusedFor == nil && !expired }
}

extension PurgeFilter {
  /// Of a user's own purge the tag is that user's as well.
  fileprivate init(_ purge: PurgeRequest, _ origins: OriginRules, byTagOf uid: UInt32?) throws(WireError) {
    self.init()
    do throws(URLProblem) {
      url = try purge.url.map { text throws(URLProblem) in origins.key(of: try CanonicalURL.parse(text)) }
    } catch {
      throw .of(error)
    }
    identifier = purge.identifier
    prefix = purge.prefix
    host = purge.host?.lowercased()
    tag = purge.tag.map { tag in uid.map { EntryTags.tag(tag, of: $0) } ?? tag }
    olderThan = purge.olderThan.map { .seconds($0) }
    unusedFor = purge.unusedFor.map { .seconds($0) }
    expired = purge.expired
  }
}
