/// The index file of the disk tier: which entries there are, under which names, and what has to be removed.
///
/// A connection belongs to one thread. The writer has the one that may write; a reader has a second
/// one, which sees what the first has committed and never waits for it.
///
/// Changes are made inside `write`, all or nothing. What is committed need not be on the disk yet: a kill loses
/// nothing of it, a power loss may lose the last seconds, but neither damages the file.
/// Only the mark that the file is in use reaches the disk before anything else is written, so after a
/// power loss `wasClean` is false.
///
/// Nothing in the file is trusted. A value that this program never writes, or a row whose seal
/// does not match, is reported as `damaged` by whichever call meets it, and never passed over: if one row
/// is wrong, others may be missing unnoticed, and it is only a cache.
package final class IndexFile {
  /// Whether a connection may change anything; only one may.
  package enum Access: Sendable { case readWrite, readOnly }

  /// Whether the last writer closed it properly, so that everything in it was true then. True for a new file,
  /// and false for one that existed but had no tables.
  package let wasClean: Bool
  package let entries: IndexEntries
  package let unlinks: PendingUnlinks
  package let removals: RemovalRows
  let fleet: FleetRows

  let connection: Connection
  private let access: Access
  private let transactions: IndexTransactions

  /// Opens the file; for writing, it is made if it is missing, and marked as in use.
  package init(path: String, access: Access) throws(IndexProblem) {
    let isNew = try IndexPlace.prepare(path, creating: access == .readWrite)
    connection = try Connection(path: path, isReadOnly: access == .readOnly)
    self.access = access
    let opening = IndexOpening(connection)
    switch access {
    case .readOnly: wasClean = try opening.toRead()
    case .readWrite: wasClean = try opening.toWrite(isNew: isNew)
    }
    transactions = IndexTransactions(connection)
    unlinks = PendingUnlinks(transactions)
    entries = IndexEntries(transactions, unlinks: unlinks)
    removals = RemovalRows(transactions)
    fleet = FleetRows(transactions)
  }

  /// Closes the file; `clean` says that the directory is known to have just the files that the index names.
  package func close(clean: Bool) throws(IndexProblem) {
    defer { connection.close() }
    guard access == .readWrite else { return }
    if clean { try IndexOpening(connection).mark(clean: true) }
    // A reader may be in the way; then the next writer carries the log over.
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Frees memory that only makes it faster.
  func giveBack() { connection.giveBack() }

  /// Whether its path still leads to it; otherwise what is written to it is lost.
  package var isInPlace: Bool { !connection.hasMoved }

  /// Carries out changes together: after an error, which `body` has to pass on, none has been made.
  package func write<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T { try transactions.write(body) }

  /// Begins to look for the entries that a removal covers, in no particular order.
  package func search(_ order: RemovalOrder) throws(IndexProblem) -> IndexSearch {
    try IndexSearch(order, in: connection)
  }

  /// Begins to look for the entries that several removals cover, in one pass.
  func scan(_ orders: [RemovalOrder]) throws(IndexProblem) -> IndexScan { try IndexScan(orders, in: connection) }
}
