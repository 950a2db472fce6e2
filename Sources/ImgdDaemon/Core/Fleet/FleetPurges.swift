import ImgdCache
import ImgdFleet
import ImgdProgram
import ImgdSystem

/// The purges that this host hears from the others, and those that it sends to them.
///
/// It reads the log from the place that the index file has noted, and tells when something is missing: then everything
/// is confirmed by its origin before it is shown again.
final class FleetPurges {
  struct Counts: Equatable {
    /// Purges of this host that have got into the log.
    var sent = 0
    /// Purges of other hosts.
    var heard = 0
    /// How often purges may have been missed.
    var gaps = 0
  }

  let history: PurgeHistory
  private let fleet: (any Fleet)?
  private let disk: DiskTier
  private let outbox: FleetOutbox?
  let applied: HeardPurges
  private var (heard, gaps) = (0, 0)
  private var hasJoined = false
  /// The log was joined before the index file could be read.
  private var hasJoinedBlindly = false
  /// The generation of the log that was last joined, or left.
  private var generation: UInt64?
  /// Purges up to this number are in force, or will be.
  private var through: UInt64 = 0
  /// No log has ever been read here: purges that are cut off before it is first read were missed.
  private var isFirstLog = false

  init(_ fleet: (any Fleet)?, disk: DiskTier, turns: Turns, loop: EventLoop, settings: Configuration.Fleet) {
    let history = PurgeHistory(loop: loop)
    self.fleet = fleet
    self.disk = disk
    self.history = history
    outbox = fleet.map { FleetOutbox($0, history: history, disk: disk, loop: loop, timeout: settings.timeout) }
    applied = HeardPurges(disk: disk, turns: turns, loop: loop)
    guard fleet != nil else { return }
    disk.onFleetNotes = { [unowned self] in receive($0) }
    if !disk.isEnabled { join(from: nil) }
  }

  func apply(_ settings: Configuration.Fleet) { outbox?.timeout = settings.timeout }

  var counts: Counts { Counts(sent: outbox?.sent ?? 0, heard: heard, gaps: gaps) }

  var pending: Int { outbox?.count ?? 0 }

  /// Why the server has not taken them; nil where that is not known, or there are none.
  var refusal: String? { outbox?.refusal }

  var lag: Int { applied.count }

  /// The last purge of the log up to which all are in force here; nil where that is not known.
  var inForce: FleetPosition? { applied.count == 0 ? history.position : applied.position }

  /// The memory that it takes, roughly.
  var heldBytes: Int { history.bytes + (outbox?.heldBytes ?? 0) + applied.count * 512 }

  /// Notes a purge for all hosts: from now on it applies to all that the server has. Nil without a fleet.
  func note(_ filter: PurgeFilter, isSoft: Bool) -> FleetPurge? {
    guard fleet != nil else { return nil }
    let purge = FleetPurge(filter, isSoft: isSoft, askedAt: WallClock.seconds, nonce: .random(in: 1 ... .max))
    history.addOwn(purge)
    return purge
  }

  func send(_ purge: FleetPurge, then: @escaping (FleetSending) -> Void) { outbox?.send(purge, then: then) }

  private func receive(_ news: FleetNotes.News) {
    switch news {
    case .read(let notes) where !hasJoined:
      generation = notes.position?.generation
      through = notes.position?.number ?? 0
      outbox?.adopt(notes)
      join(from: notes.position)
    case .read(let notes):
      outbox?.adopt(notes)
      keepAnew()
      // Purges may have been heard in between that this disk has no record of.
      if hasJoinedBlindly { noteGap("the cache directory was opened late", at: nil) }
      hasJoinedBlindly = false
    case .unreadable where !hasJoined:
      hasJoinedBlindly = true
      join(from: nil)
    case .unreadable: break
    case .incomplete: keepAnew()
    }
  }

  private func join(from position: FleetPosition?) {
    hasJoined = true
    fleet?.join(from: position)
  }

  private func keepAnew() {
    disk.keepFleetPurges(inPlaceOfAll: outbox?.rows ?? []) { _ in }
    applied.keepPosition()
  }

  func receive(_ event: FleetEvent) {
    switch event {
    case .state(let state): outbox?.follow(state)
    case .joined(let join): joined(join)
    case .purges(let purges): for purge in purges { hear(purge) }
    case .sent(let nonce): outbox?.wasSent(nonce)
    case .unsent(let nonce, let reason): outbox?.wasRefused(nonce, reason)
    case .pictures, .clock, .memory, .looked, .stored, .defect, .unlisted, .hosts: break
    }
  }

  private func joined(_ join: FleetJoin) {
    let isSame = generation == nil || generation == join.generation
    let loss = join.loss ?? (isSame ? nil : "the fleet's server has other data")
    // What was missed before the place that was noted has been made up for.
    let isKnown = isSame && generation != nil && join.last <= through
    if !isSame { through = 0 }
    isFirstLog = generation == nil && loss == nil
    generation = join.generation
    history.begin(join)
    guard !isKnown else { return }
    if !isSame {
      outbox?.doubtLog()
    } else if loss != nil {
      outbox?.sendUnheardAgain()
    }
    let start = join.last == 0 ? FleetPosition(generation: join.generation, number: 0, nonce: 0) : nil
    if let loss {
      noteGap(loss, at: start)
    } else if let start {
      applied.add(start)
    }
  }

  private func noteGap(_ reason: String, at position: FleetPosition?) {
    gaps += 1
    Log.notice(
      .fleet, "purges of the fleet may have been missed, everything is stale: \(reason)", .code(.purgesMissed))
    applied.markEverything(at: position)
  }

  private func hear(_ heard: HeardPurge) {
    guard let generation else { return }
    history.hear(heard)
    let isOwn = outbox?.wasHeard(heard.purge.nonce) ?? false
    guard heard.number > through else { return }
    if isFirstLog, heard.number > 1 {
      noteGap("the log's first purges have been cut off, and no earlier place in it is known", at: nil)
    }
    isFirstLog = false
    through = heard.number
    if !isOwn { self.heard += 1 }
    let position = FleetPosition(generation: generation, number: heard.number, nonce: heard.purge.nonce)
    applied.add(heard, at: position, isOwn: isOwn)
    guard applied.giveUpIfTooMany() else { return }
    gaps += 1
    Log.notice(.fleet, "too many purges of the fleet wait, everything is stale", .code(.purgesMerged))
  }
}

/// Carries out what other hosts have purged, in the order of the log, in turns with everybody's work.
///
/// How far that has come is written down last: what was not carried out for good before a kill is heard again.
final class HeardPurges {
  /// How many may wait; beyond that, everything is marked stale in their place.
  static let most = 20_000
  /// How many may wait for the disk at once.
  private static let mostBegun = 1_024

  /// Carries out another part of a purge; returns whether there is more.
  typealias Step = () -> Bool

  /// Begins a purge of all tiers; the last closure is called when it is durable. Set once by the composition.
  var begin: (PurgeFilter, _ isSoft: Bool, _ then: @escaping () -> Void) -> Step? = { _, _, _ in nil }

  private final class Item {
    /// Nil for a purge that has been carried out here already.
    let filter: PurgeFilter?
    let isSoft: Bool
    let askedAt: Instant
    /// The place in the log up to which everything is in force once this is.
    let position: FleetPosition?
    var isDone = false

    init(_ filter: PurgeFilter?, isSoft: Bool, askedAt: Instant, position: FleetPosition?) {
      self.filter = filter
      self.isSoft = isSoft
      self.askedAt = askedAt
      self.position = position
    }
  }

  private let disk: DiskTier
  private let turns: Turns
  private let loop: EventLoop
  private var waiting = Fifo<Item>()
  private var begun = Fifo<Item>()
  /// The purge that is being carried out in memory.
  private var current: Step?
  private var isUnderWay = false
  /// The last place in the log up to which everything has come into force since the start.
  private(set) var position: FleetPosition?

  init(disk: DiskTier, turns: Turns, loop: EventLoop) {
    self.disk = disk
    self.turns = turns
    self.loop = loop
  }

  /// How many have been heard, but are not in force for good.
  var count: Int { waiting.count + begun.count }

  /// Adds a purge; one that this host has carried out itself only counts as a place in the log.
  func add(_ heard: HeardPurge, at position: FleetPosition, isOwn: Bool) {
    let purge = heard.purge
    append(
      Item(isOwn ? nil : purge.filter, isSoft: purge.isSoft, askedAt: loop.now.before(heard.age), position: position))
  }

  /// Notes a place in the log before its first purge.
  func add(_ position: FleetPosition) { append(Item(nil, isSoft: false, askedAt: loop.now, position: position)) }

  /// Has everything confirmed before it is shown again.
  func markEverything(at position: FleetPosition? = nil) {
    append(Item(PurgeFilter(), isSoft: true, askedAt: loop.now, position: position))
  }

  /// Marks everything stale in place of all that wait, if there are too many; returns whether it did.
  func giveUpIfTooMany() -> Bool {
    guard waiting.count > Self.most else { return false }
    let last = waiting.all.compactMap(\.position).last
    waiting = Fifo()
    markEverything(at: last)
    return true
  }

  /// Writes down again how far it has come.
  func keepPosition() { if let position { disk.keepFleetPosition(position) } }

  private func append(_ item: Item) {
    waiting.append(item)
    goOn()
  }

  private func goOn() {
    guard !isUnderWay, !waiting.isEmpty, begun.count < Self.mostBegun else { return }
    isUnderWay = true
    turns.carryOut { [unowned self] in step() }
  }

  /// Carries out another part; returns whether there is more.
  private func step() -> Bool {
    if let step = current {
      if !step() { current = nil }
      return true
    }
    guard begun.count < Self.mostBegun, let item = waiting.popFirst() else {
      isUnderWay = false
      return false
    }
    begun.append(item)
    current = item.filter.flatMap { filter in
      begin(filter.aged(since: item.askedAt, at: loop.now), item.isSoft) { [unowned self] in endPurge(item) }
    }
    if item.filter == nil { endPurge(item) }
    return true
  }

  private func endPurge(_ item: Item) {
    item.isDone = true
    var last: FleetPosition?
    while let first = begun.first, first.isDone {
      last = first.position ?? last
      _ = begun.popFirst()
    }
    if let last {
      position = last
      disk.keepFleetPosition(last)
    }
    goOn()
  }
}

extension PurgeFilter {
  /// The filter some time after it was asked for: pictures that have come since are younger. The delays of the server
  /// are not known: fetching a picture anew without need is the safe mistake.
  fileprivate func aged(since askedAt: Instant, at now: Instant) -> PurgeFilter {
    var aged = self
    aged.olderThan = olderThan.map { $0.asAge + (now - askedAt - .seconds(1)).asAge }
    return aged
  }
}
