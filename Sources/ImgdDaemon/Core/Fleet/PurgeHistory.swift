import ImgdCache
import ImgdFleet
import ImgdSystem

/// The purges of the whole fleet, as far as this host has heard them: what the server has may be older than a purge
/// that means it.
///
/// A picture is stored with the last purge that its host had heard before its transfer. A host that finds it asks
/// here for later ones about it; purges of its own that are not in the log yet are later than all that is there.
final class PurgeHistory {
  /// As many as the log keeps.
  static let most = 10_000
  static let mostBytes = 16 << 20
  /// A host that does not get to the end of the log within three seconds leaves the server.
  private static let greatestLag = Duration.seconds(5)

  /// A purge of the log, or one of this host that is not there yet, with its number among those.
  private struct Entry {
    let nonce: UInt64
    let filter: PurgeFilter
    let number: UInt64
  }

  private let loop: EventLoop
  /// The generation of the server's data that the log belongs to.
  private var generation: UInt64 = 0
  /// The last purge that was heard; nil as long as the log has not been read.
  private(set) var position: FleetPosition?
  /// Purges up to this number have been forgotten, or were never heard.
  private var floor: UInt64 = 0
  /// The purges above the floor, and what they mean.
  private var entries = Fifo<Entry>()
  private var entryBytes = 0
  private var table = PurgeTable()

  private var own = Fifo<Entry>()
  private var ownTable = PurgeTable()
  /// Purges of this host that are in the log by now.
  private var settled: Set<UInt64> = []
  private var lastOwn: UInt64 = 0
  /// Purges of this host up to this number are in the log.
  private var ownFloor: UInt64 = 0

  init(loop: EventLoop) { self.loop = loop }

  /// The memory that it takes, roughly.
  var bytes: Int { table.bytes + ownTable.bytes + entryBytes + own.count * MemoryLayout<Entry>.stride }

  /// How many purges are known one by one, and how many filters they are kept as.
  var counts: (purges: Int, filters: Int) { (entries.count, table.count) }
  /// How many filters were compared with a picture since the start.
  var comparisons: Int { table.comparisons + ownTable.comparisons }

  /// Notes that the log is read from its beginning, or on from where it was left.
  func begin(_ join: FleetJoin) {
    let goesOn = !join.isFromBeginning && join.generation == generation && join.loss == nil
    guard !goesOn else { return }
    generation = join.generation
    forgetLog(upTo: 0)
    position = join.last == 0 ? FleetPosition(generation: generation, number: 0, nonce: 0) : nil
  }

  func hear(_ heard: HeardPurge) {
    guard heard.number > position?.number ?? 0 else { return }
    // Nothing is known about purges before the first one, or about those that are skipped.
    if heard.number != floor + UInt64(entries.count) + 1 { forgetLog(upTo: heard.number - 1) }
    let purge = heard.purge
    entries.append(Entry(nonce: purge.nonce, filter: purge.filter, number: heard.number))
    entryBytes += purge.filter.roughBytes
    table.add(
      purge.filter, isSoft: purge.isSoft, number: heard.number,
      storedBefore: limit(of: purge.filter, askedAt: loop.now.before(heard.age)))
    position = FleetPosition(generation: generation, number: heard.number, nonce: purge.nonce)
    while entries.count > Self.most || table.bytes + entryBytes > Self.mostBytes { forgetOldest() }
  }

  /// Ages are known in whole seconds: fetching a picture anew without need is the safe mistake.
  private func limit(of filter: PurgeFilter, askedAt: Instant) -> Instant? {
    filter.olderThan.map { askedAt.before($0) + .seconds(1) }
  }

  private func forgetLog(upTo number: UInt64) {
    (entries, entryBytes, table, floor) = (Fifo(), 0, PurgeTable(), number)
  }

  private func forgetOldest() {
    guard let oldest = entries.popFirst() else { return }
    entryBytes -= oldest.filter.roughBytes
    floor += 1
    table.forget(oldest.filter, upTo: floor)
  }

  /// Notes a purge that is not in the log yet.
  func addOwn(_ purge: FleetPurge) {
    lastOwn += 1
    own.append(Entry(nonce: purge.nonce, filter: purge.filter, number: lastOwn))
    ownTable.add(
      purge.filter, isSoft: purge.isSoft, number: lastOwn, storedBefore: limit(of: purge.filter, askedAt: loop.now))
  }

  /// Notes that a purge is in the log. It may go on counting until the earlier ones are there, too.
  func settleOwn(_ nonce: UInt64) {
    settled.insert(nonce)
    while let first = own.first, settled.remove(first.nonce) != nil {
      _ = own.popFirst()
      ownFloor = first.number
      ownTable.forget(first.filter, upTo: ownFloor)
    }
  }

  /// What becomes of a picture that was fetched when `mark` was the last purge, and stored `age` ago.
  func verdict(on key: CacheKey, tags: [String], mark: FleetPosition, age: Duration) -> PurgeVerdict {
    let storedAt = loop.now.before(age)
    let isOfLog = isOfLog(mark, age: age)
    let own = ownTable.verdict(on: key, tags: tags, after: ownFloor, storedAt: storedAt)
    // For a picture with another history, every purge that is known may be a later one.
    let heard = table.verdict(on: key, tags: tags, after: isOfLog ? mark.number : 0, storedAt: storedAt)
    switch (own, heard) {
    case (.purged, _), (_, .purged): return .purged
    case (.untouched, .untouched): return isOfLog ? .untouched : .stale
    default: return .stale
    }
  }

  /// Whether all purges after a mark are known. One that lies beyond what was heard is right for a moment; after that it is
  /// of another log than the one that is read here.
  private func isOfLog(_ mark: FleetPosition, age: Duration) -> Bool {
    guard let position, mark.generation == generation, mark.number >= floor else { return false }
    guard mark.number <= position.number || age < Self.greatestLag else { return false }
    let place = mark.number - floor
    guard place > 0, place <= entries.count, let entry = entries[Int(place) - 1] else { return true }
    return entry.nonce == mark.nonce
  }
}
