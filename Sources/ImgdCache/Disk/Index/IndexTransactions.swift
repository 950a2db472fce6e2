internal import CSQLite

/// Changes to the index file that are made together or not at all.
final class IndexTransactions {
  let connection: Connection
  private var isWriting = false

  init(_ connection: Connection) {
    self.connection = connection
  }

  /// Carries out changes together: after an error none has been made.
  ///
  /// An error has to leave `body`: SQLite may have undone everything already.
  func write<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    precondition(!isWriting, "A transaction of the index holds no other.")
    isWriting = true
    defer { isWriting = false }
    return try transaction(.beginWrite, body)
  }

  /// Reads from one state of the file, in several statements.
  func read<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    isWriting ? try body() : try transaction(.begin, body)
  }

  /// Every change asks, as half of it could not be undone without a transaction.
  func expectWriting() throws(IndexProblem) {
    precondition(isWriting, "The index is changed inside a transaction.")
    try expectOpen()
  }

  private func transaction<T>(
    _ begin: IndexQuery, _ body: () throws(IndexProblem) -> T
  ) throws(IndexProblem) -> T {
    try connection.statement(begin).run()
    do throws(IndexProblem) {
      let result = try body()
      try expectOpen()
      try connection.statement(.commit).run()
      return result
    } catch {
      // After some failures there is nothing left to undo. A failure to undo has nothing to add.
      if connection.isInTransaction { try? connection.statement(.rollback).run() }
      throw error
    }
  }

  private func expectOpen() throws(IndexProblem) {
    guard !connection.isInTransaction else { return }
    throw .storage(code: SQLITE_ABORT, systemErrno: 0, "the changes have been undone")
  }
}
