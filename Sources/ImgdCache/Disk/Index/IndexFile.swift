internal import CSQLite
import Glibc

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
/// is wrong, nobody knows which are missing, and it is only a cache.
package final class IndexFile {
  /// Whether a connection may change anything; only one may.
  package enum Access: Sendable { case readWrite, readOnly }

  /// Whether the last writer has closed it, so that all it says was true then; true for a new one,
  /// and not for one that was empty.
  package let wasClean: Bool

  let connection: Connection
  private let access: Access
  private var isWriting = false

  /// Opens the file; one that shall be written is made if there is none, and marked as in use.
  package init(path: String, access: Access) throws(IndexProblem) {
    let isNew = try IndexPlace.prepare(path, creating: access == .readWrite)
    connection = try Connection(path: path, isReadOnly: access == .readOnly)
    self.access = access
    switch access {
    case .readOnly: wasClean = try Self.openToRead(connection)
    case .readWrite: wasClean = try Self.openToWrite(connection, isNew: isNew)
    }
  }

  /// Closes it; `clean` says that all files are as the index says, and are on the disk.
  package func close(clean: Bool) throws(IndexProblem) {
    defer { connection.close() }
    guard access == .readWrite else { return }
    if clean { try Self.markClean(true, connection) }
    // Somebody who reads may be in the way; then the log is carried over by the next writer.
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Lets go of memory that only makes it quicker.
  func giveBack() {
    connection.giveBack()
  }

  /// Whether its path still leads to it; what is written to it is lost otherwise.
  package var isInPlace: Bool { !connection.hasMoved }

  // MARK: Transactions

  /// Carries out changes together: after an error none has been made.
  ///
  /// An error has to leave `body`: SQLite may have undone everything already.
  package func write<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    precondition(!isWriting, "A transaction of the index holds no other.")
    isWriting = true
    defer { isWriting = false }
    return try transaction(.beginWrite, body)
  }

  /// Reads from one state of the file, in several statements.
  func reading<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    isWriting ? try body() : try transaction(.begin, body)
  }

  /// Every change asks, as half of it could not be undone without a transaction.
  func expectWriting() throws(IndexProblem) {
    precondition(isWriting, "The index is changed inside a transaction.")
    try expectTransaction()
  }

  private func transaction<T>(
    _ begin: IndexQuery, _ body: () throws(IndexProblem) -> T
  ) throws(IndexProblem) -> T {
    try connection.statement(begin).run()
    do throws(IndexProblem) {
      let result = try body()
      try expectTransaction()
      try connection.statement(.commit).run()
      return result
    } catch {
      // After some failures there is nothing left to undo. A failure to undo has nothing to add.
      if connection.isInTransaction { try? connection.statement(.rollback).run() }
      throw error
    }
  }

  private func expectTransaction() throws(IndexProblem) {
    guard !connection.isInTransaction else { return }
    throw .storage(code: SQLITE_ABORT, systemErrno: 0, "the changes have been undone")
  }
}

// MARK: Opening

extension IndexFile {
  private static func openToRead(_ connection: Connection) throws(IndexProblem) -> Bool {
    try IndexSchema.verify(connection)
    // No mapping: a file that somebody cuts short under it would end the process.
    for text in ["mmap_size = 0", "cache_size = -2048", "query_only = ON"] {
      try connection.execute("PRAGMA \(text)")
    }
    return try isClean(connection)
  }

  private static func openToWrite(
    _ connection: Connection, isNew: Bool
  ) throws(IndexProblem) -> Bool {
    let isBlank = try IndexSchema.isBlank(connection)
    if !isBlank { try IndexSchema.verify(connection) }
    try connection.expectWritable()
    try tune(connection)
    if isBlank { try IndexSchema.create(in: connection, isClean: isNew) }
    let wasClean = try isClean(connection)
    if wasClean { try markClean(false, connection) }
    try connection.execute("PRAGMA synchronous = NORMAL")
    return wasClean
  }

  private static func tune(_ connection: Connection) throws(IndexProblem) {
    guard try connection.word("journal_mode = WAL") == "wal" else {
      throw .storage(code: SQLITE_IOERR, systemErrno: 0, "no log can be kept beside it")
    }
    for text in [
      "synchronous = FULL", "mmap_size = 0", "cache_size = -8192", "temp_store = MEMORY",
      // Some builds fill what was removed with zeros, which writes every page once more.
      "secure_delete = OFF", "cell_size_check = ON", "wal_autocheckpoint = 1000",
      "journal_size_limit = 16777216",
    ] {
      try connection.execute("PRAGMA \(text)")
    }
  }

  private static func isClean(_ connection: Connection) throws(IndexProblem) -> Bool {
    let statement = try connection.statement(.readClean)
    defer { statement.reset() }
    guard try statement.step() else { throw .damaged("it has no state") }
    return try statement.integer(UInt8.self) == 1
  }

  private static func markClean(_ clean: Bool, _ connection: Connection) throws(IndexProblem) {
    let statement = try connection.statement(.writeClean)
    statement.bind(clean ? 1 : 0)
    try statement.run()
  }
}
