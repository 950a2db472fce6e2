/// The index file of the disk tier: what there is, under which names, and what is to be removed.
///
/// A connection belongs to one thread. The writer has the one that may write; a reader has a second
/// one, which sees what the first has committed and never waits for it.
///
/// Changes are made inside `write`, all or nothing. Written is not yet on the disk: a kill loses
/// nothing that was committed, a power loss may lose the last seconds, but neither damages the file.
/// Only the mark that it is in use is on the disk before anything else is written, so that after a
/// power loss `wasClean` is false.
///
/// Nothing in the file is believed. A value that this program does not write, or a row whose seal
/// does not fit, is reported as `damaged` by whichever call meets it, never passed over: if one row
/// is wrong, it is unknown which are missing, and it is only a cache.
package final class IndexFile {
  /// Whether a connection may change anything; only one may.
  package enum Access: Sendable { case readWrite, readOnly }

  /// Whether the last writer has closed it, so that all it says was true then; true for a new one,
  /// and not for one that was empty.
  package let wasClean: Bool
  package let entries: IndexEntries
  package let unlinks: PendingUnlinks
  package let removals: RemovalRows
  let fleet: FleetRows

  let connection: Connection
  private let access: Access
  private let transactions: IndexTransactions

  /// Opens the file; for writing, it is made if there is none, and marked as in use.
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

  /// Closes it; `clean` says that all files are as the index says, and are on the disk.
  package func close(clean: Bool) throws(IndexProblem) {
    defer { connection.close() }
    guard access == .readWrite else { return }
    if clean { try IndexOpening(connection).mark(clean: true) }
    // A reader may be in the way; then the log is carried over by the next writer.
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Lets go of memory that only makes it quicker.
  func giveBack() {
    connection.giveBack()
  }

  /// Whether its path still leads to it; what is written to it is lost otherwise.
  package var isInPlace: Bool { !connection.hasMoved }

  /// Carries out changes together: after an error, which has to leave `body`, none has been made.
  package func write<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    try transactions.write(body)
  }

  /// Begins to look for the entries that a removal means, in no order.
  package func search(_ order: RemovalOrder) throws(IndexProblem) -> IndexSearch {
    try IndexSearch(order, in: connection)
  }

  /// Begins to look for the entries that several removals mean, in one pass.
  func scan(_ orders: [RemovalOrder]) throws(IndexProblem) -> IndexScan {
    try IndexScan(orders, in: connection)
  }
}
