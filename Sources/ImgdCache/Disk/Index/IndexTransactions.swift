internal import CSQLite

/// Carries out changes to the index file together or not at all.
final class IndexTransactions {
  let connection: Connection
  private var isWriting = false

  init(_ connection: Connection) { self.connection = connection }

  /// Carries out changes together: after an error none has been made.
  ///
  /// `body` has to pass on every error: SQLite may have undone everything already.
  func write<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    precondition(!isWriting, "A transaction of the index holds no other.")
    isWriting = true
    defer { isWriting = false }
    return try transaction(.beginWrite, body)
  }

  /// Reads with several statements, which all see the same state of the file.
  func read<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    isWriting ? try body() : try transaction(.begin, body)
  }

  /// Every change calls this, since half a change could not be undone without a transaction.
  func expectWriting() throws(IndexProblem) {
    precondition(isWriting, "The index is changed inside a transaction.")
    try expectOpen()
  }

  private func transaction<T>(_ begin: IndexQuery, _ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T {
    try connection.statement(begin).run()
    do throws(IndexProblem) {
      let result = try body()
      try expectOpen()
      try connection.statement(.commit).run()
      return result
    } catch {
      // After some failures SQLite has undone everything itself. A failure to undo would add nothing to the error.
      if connection.isInTransaction { try? connection.statement(.rollback).run() }
      throw error
    }
  }

  private func expectOpen() throws(IndexProblem) {
    guard !connection.isInTransaction else { return }
    throw .storage(code: SQLITE_ABORT, systemErrno: 0, "the changes have been undone")
  }
}
