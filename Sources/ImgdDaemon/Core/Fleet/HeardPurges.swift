import ImgdCache
import ImgdFleet
import ImgdSystem

/// Carries out what other hosts have purged, in the order of the log, in turns with everybody's work.
///
/// How far that has come is written down after the purges themselves: what was not carried out for good before a kill
/// is heard again.
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

  // MARK: Orders

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

  // MARK: Turns

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
  /// The filter as it has to be some time after it was asked for: pictures that have come since are younger. How long
  /// ago that was is known only to within the delays of the server: fetching a picture anew without need is the safe
  /// mistake.
  fileprivate func aged(since askedAt: Instant, at now: Instant) -> PurgeFilter {
    var aged = self
    aged.olderThan = olderThan.map { $0.asAge + (now - askedAt - .seconds(1)).asAge }
    return aged
  }
}
