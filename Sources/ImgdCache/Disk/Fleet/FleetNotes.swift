/// The notes of the index file about the fleet.
package struct FleetNotes: Sendable, Equatable {
  /// The last purge of the log that is in force here; nil if there never was one, or its row is damaged.
  package internal(set) var position: FleetPosition?
  /// Purges of this host that are not known to be in the log, the oldest first.
  package internal(set) var purges: [FleetPurge] = []
  /// How many rows of such purges are damaged, so that it is unknown what these were about.
  package internal(set) var damaged = 0

  package init() {}

  /// An event that the owner of the notes has to know of.
  package enum News: Sendable {
    /// An index has been opened, and has these notes. A new one has none: an owner that has more stores them again.
    case read(FleetNotes)
    /// No index could be opened.
    case unreadable
    /// The disk works again after it refused to keep something.
    case incomplete
  }
}

enum FleetCodec {
  private static let version: UInt8 = 1

  static func encode(_ position: FleetPosition) -> [UInt8] {
    var writer = ByteWriter()
    writer.put(UInt64(0))
    writer.put(version)
    writer.put(position.generation)
    writer.put(position.number)
    writer.put(position.nonce)
    writer.seal()
    return writer.bytes
  }

  static func position(_ bytes: [UInt8]) -> FleetPosition? {
    var reader = ByteReader(bytes[...])
    guard reader.isSealed(), reader.number(UInt8.self) == version else { return nil }
    let position = FleetPosition(generation: reader.number(), number: reader.number(), nonce: reader.number())
    return reader.hasFailed || !reader.isAtEnd ? nil : position
  }
}

/// A place in the log of purges that all hosts of a fleet read.
package struct FleetPosition: Hashable, Sendable {
  /// Which life of the server's data this is: the number changes when the server is emptied.
  package let generation: UInt64
  /// The number of the last purge up to here; 0 before the first one.
  package let number: UInt64
  /// The random number of that purge: a log with another history has another number here.
  package let nonce: UInt64

  package init(generation: UInt64, number: UInt64, nonce: UInt64) {
    self.generation = generation
    self.number = number
    self.nonce = nonce
  }
}

/// A purge for all hosts of a fleet.
package struct FleetPurge: Sendable, Equatable {
  package let filter: PurgeFilter
  /// Whether entries are only marked as stale.
  package let isSoft: Bool
  /// In seconds since 1970, by the clock of this machine; the filter's ages count back from here.
  package let askedAt: Int64
  /// A random number that tells purges apart.
  package let nonce: UInt64

  package init(_ filter: PurgeFilter, isSoft: Bool, askedAt: Int64, nonce: UInt64) {
    self.filter = filter
    self.isSoft = isSoft
    self.askedAt = askedAt
    self.nonce = nonce
  }
}

/// The notes about the fleet on their way to the index file.
///
/// Changes that come while the writer is busy with earlier ones go with the next commit, so that a thousand purges
/// do not cost a thousand commits. What the disk refuses is not held: the owner of the notes is told when the disk
/// works again, and stores all of them anew.
final class StoredFleetNotes: DiskPart {
  /// How many changes may wait for a slow disk; with more, they are dropped and all notes are written again later.
  private static let mostWaiting = 20_480

  /// Set once by the composition of the daemon.
  var onNews: (FleetNotes.News) -> Void = { _ in }

  private var changes = FleetChanges()
  /// Told whether the purges among the changes have been written.
  private var waiting: [(Bool) -> Void] = []
  private var (inFlight, bytesInFlight) = (0, 0)
  /// Whether something was not written.
  private var isBehind = false

  var heldBytes: Int { changes.heldBytes + bytesInFlight }

  func keep(_ position: FleetPosition) {
    changes.keep(position)
    send()
  }

  func keep(_ purge: FleetPurge, then: @escaping (Bool) -> Void) {
    changes.keep(purge)
    waiting.append(then)
    send()
  }

  func keep(inPlaceOfAll purges: [FleetPurge], then: @escaping (Bool) -> Void) {
    changes.dropAll()
    for purge in purges { changes.keep(purge) }
    waiting.append(then)
    send()
  }

  func drop(_ nonce: UInt64) {
    changes.drop(nonce)
    send()
  }

  private var mayWrite: Bool { health.state == .ok || health.isOpening }

  private func send() {
    guard mayWrite, changes.count <= Self.mostWaiting else { return giveUp() }
    // Changes that come meanwhile go with the next commit.
    if inFlight == 0 { sendAll() }
  }

  private func giveUp() {
    (changes, isBehind) = (FleetChanges(), true)
    tell(takeWaiting(), false)
  }

  /// Sends all changes at once, for a job that has to come after them.
  func sendAll() {
    guard !changes.isEmpty else { return }
    let (batch, told) = (changes, takeWaiting())
    changes = FleetChanges()
    inFlight += 1
    bytesInFlight += batch.heldBytes
    threads.order(
      { (disk) throws(DiskTrouble) in
        try disk.commit { index throws(IndexProblem) in try batch.carryOut(in: index.fleet) }
      },
      then: { [unowned self] done in
        inFlight -= 1
        bytesInFlight -= batch.heldBytes
        if done == nil { isBehind = true }
        tell(told, done != nil)
        guard inFlight == 0 else { return }
        if isBehind, done != nil { catchUp() } else { send() }
      })
  }

  private func takeWaiting() -> [(Bool) -> Void] {
    defer { waiting = [] }
    return waiting
  }

  private func tell(_ waiting: [(Bool) -> Void], _ isKept: Bool) { for then in waiting { then(isKept) } }

  func begin(with notes: FleetNotes) {
    isBehind = false
    onNews(.read(notes))
  }

  func fail() { onNews(.unreadable) }

  func resume() { if isBehind, inFlight == 0 { catchUp() } }

  private func catchUp() {
    isBehind = false
    onNews(.incomplete)
  }
}

/// Changes to the notes about the fleet, which the writer makes in one transaction.
struct FleetChanges: Sendable {
  private enum Change {
    case keep(FleetPurge)
    case drop(UInt64)
  }

  /// Whether all purges are removed before anything else is done.
  private var takesAll = false
  private var position: FleetPosition?
  /// In the order in which they were asked for.
  private var changes: [Change] = []
  private var bytes = 0

  var isEmpty: Bool { !takesAll && position == nil && changes.isEmpty }

  var count: Int { changes.count }

  var heldBytes: Int { bytes + changes.count * 32 }

  mutating func keep(_ position: FleetPosition) { self.position = position }

  mutating func keep(_ purge: FleetPurge) {
    changes.append(.keep(purge))
    bytes += purge.filter.roughBytes
  }

  mutating func drop(_ nonce: UInt64) { changes.append(.drop(nonce)) }

  mutating func dropAll() { (takesAll, changes, bytes) = (true, [], 0) }

  func carryOut(in rows: FleetRows) throws(IndexProblem) {
    if takesAll { try rows.removeAll() }
    for change in changes {
      switch change {
      case .keep(let purge): try rows.put(purge)
      case .drop(let nonce): try rows.remove(nonce)
      }
    }
    if let position { try rows.put(position) }
  }
}

/// The tables of notes about the fleet: how far its log of purges is in force here, and the purges that are not
/// in it yet.
///
/// Nothing else in the file refers to their rows, so a damaged one says nothing about any others.
struct FleetRows {
  /// The most rows of purges that are read: there are never more unless somebody else has written them.
  static let mostRead = 10_240

  let connection: Connection

  func all() throws(IndexProblem) -> FleetNotes {
    var notes = FleetNotes()
    let record = try connection.statement(.fleetPosition).first { (row) throws(IndexProblem) in try row.blob() }
    notes.position = record.flatMap { FleetCodec.position($0) }
    let purges = try connection.statement(.fleetPurges, Self.mostRead).all {
      (row) throws(IndexProblem) -> FleetPurge? in
      let (nonce, orders) = (try row.bits(), OwedCodec.decode(try row.blob()))
      guard orders.count == 1 else { return nil }
      return FleetPurge(orders[0].filter, isSoft: orders[0].isSoft, askedAt: orders[0].askedAt, nonce: nonce)
    }
    notes.purges = purges.compactMap(\.self)
    notes.damaged = purges.count - notes.purges.count
    return notes
  }

  func put(_ position: FleetPosition) throws(IndexProblem) {
    try connection.expectWriting()
    let statement = try connection.statement(.writeFleetPosition)
    statement.bind(blob: FleetCodec.encode(position))
    try statement.run()
  }

  /// Adds a purge after the others, or in place of its earlier row.
  func put(_ purge: FleetPurge) throws(IndexProblem) {
    try connection.expectWriting()
    let statement = try connection.statement(.writeFleetPurge, purge.nonce)
    let order = RemovalOrder(purge.filter, isSoft: purge.isSoft, askedAt: purge.askedAt)
    statement.bind(blob: OwedCodec.encode([order]))
    try statement.run()
  }

  func remove(_ nonce: UInt64) throws(IndexProblem) {
    try connection.expectWriting()
    try connection.run(.removeFleetPurge, nonce)
  }

  func removeAll() throws(IndexProblem) {
    try connection.expectWriting()
    try connection.run(.removeFleetPurges)
  }
}
