/// The tables of notes about the fleet: how far its log of purges is in force here, and the purges that are not
/// in it yet.
///
/// Nothing else in the file refers to their rows, so a damaged one says nothing about any others.
final class FleetRows {
  /// The most rows of purges that are read: there are never more unless somebody else has written them.
  static let mostRead = 10_240

  private let connection: Connection
  private let transactions: IndexTransactions

  init(_ transactions: IndexTransactions) {
    connection = transactions.connection
    self.transactions = transactions
  }

  /// Everything that the tables hold.
  func all() throws(IndexProblem) -> FleetNotes {
    var notes = FleetNotes()
    let record = try connection.statement(.fleetPosition).first { (row) throws(IndexProblem) in try row.blob() }
    notes.position = record.flatMap { FleetCodec.position($0) }
    let statement = try connection.statement(.fleetPurges)
    statement.bind(Self.mostRead)
    let purges = try statement.all { (row) throws(IndexProblem) in
      let nonce = try row.bits()
      return FleetCodec.purge(try row.blob(), nonce: nonce)
    }
    notes.purges = purges.compactMap(\.self)
    notes.damaged = purges.count - notes.purges.count
    return notes
  }

  func put(_ position: FleetPosition) throws(IndexProblem) {
    try transactions.expectWriting()
    let statement = try connection.statement(.writeFleetPosition)
    statement.bind(blob: FleetCodec.encode(position))
    try statement.run()
  }

  /// Adds a purge after the others, or in place of its earlier row.
  func put(_ purge: FleetPurge) throws(IndexProblem) {
    try transactions.expectWriting()
    let statement = try connection.statement(.writeFleetPurge)
    statement.bind(purge.nonce)
    statement.bind(blob: FleetCodec.encode(purge))
    try statement.run()
  }

  /// Removes the purge with a nonce, if there is one.
  func remove(_ nonce: UInt64) throws(IndexProblem) {
    try transactions.expectWriting()
    try connection.run(.removeFleetPurge, nonce)
  }

  func removeAll() throws(IndexProblem) {
    try transactions.expectWriting()
    try connection.statement(.removeFleetPurges).run()
  }
}
