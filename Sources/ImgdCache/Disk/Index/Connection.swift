internal import CSQLite
import Glibc

/// One connection to a database of SQLite, for one thread.
@safe final class Connection {
  /// Nil once it is closed.
  private var handle: OpaquePointer?
  /// Statements that have been prepared already, by the number of the query.
  private var statements = [Statement?](repeating: nil, count: IndexQuery.allCases.count)

  /// How long another process's lock is waited for, in milliseconds.
  private static let patience: Int32 = 250

  /// How SQLite meets the file system: a file that is open is ours alone, and what the connections to
  /// it share lies in the heap. A file that is mapped for that would end the process when it is cut
  /// short, or cannot be written any more.
  private static let fileSystem = "unix-excl"

  /// Opens a file that exists.
  init(path: String, isReadOnly: Bool) throws(IndexProblem) {
    // One thread owns it, so it needs no lock of its own: that is a third of the time of a scan.
    let flags =
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
      | (isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE)
    let code = unsafe sqlite3_open_v2(path, &handle, flags, Self.fileSystem)
    guard code == SQLITE_OK else {
      let problem = unsafe problem(of: handle)
      close()
      throw problem
    }
    restrict()
  }

  deinit { close() }

  /// Refuses a file that has been opened and cannot be written, of which SQLite says nothing.
  func expectWritable() throws(IndexProblem) {
    guard unsafe sqlite3_db_readonly(handle, "main") == 1 else { return }
    throw .storage(code: SQLITE_READONLY, systemErrno: EROFS, "it cannot be written")
  }

  /// Lets go of pages that can be read again.
  func giveBack() {
    unsafe _ = sqlite3_db_release_memory(handle)
  }

  func close() {
    // Statements that are still there would keep the file open.
    statements.removeAll()
    unsafe _ = sqlite3_close_v2(handle)
    unsafe handle = nil
  }

  /// Takes away features that we don't use and a prepared file could.
  private func restrict() {
    unsafe sqlite3_busy_timeout(handle, Self.patience)
    unsafe _ = sqlite_set_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
    for flag in [
      SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
    ] {
      unsafe _ = sqlite_set_flag(handle, flag, 0)
    }
    // The largest row is one with many headers, which is far below this.
    unsafe _ = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 16 << 20)
    unsafe _ = sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    unsafe _ = sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0)
  }

  /// A statement that is used again and again, ready to be bound.
  func statement(_ query: IndexQuery) throws(IndexProblem) -> Statement {
    guard !statements.isEmpty else { throw .closed }
    if let statement = statements[query.rawValue] {
      statement.reset()
      return statement
    }
    let statement = try prepare(query.text, isKept: true)
    statements[query.rawValue] = statement
    return statement
  }

  func prepare(_ text: String, isKept: Bool = false) throws(IndexProblem) -> Statement {
    guard let handle = unsafe handle else { throw .closed }
    var prepared: OpaquePointer?
    let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let code = unsafe sqlite3_prepare_v3(handle, text, -1, flags, &prepared, nil)
    guard code == SQLITE_OK, let prepared = unsafe prepared else {
      throw unsafe problem(of: handle)
    }
    return unsafe Statement(owning: prepared)
  }

  func execute(_ text: String) throws(IndexProblem) {
    try prepare(text).run()
  }

  /// The number that `PRAGMA name` answers with.
  func number(_ name: String) throws(IndexProblem) -> Int {
    let statement = try prepare("PRAGMA \(name)")
    guard try statement.step() else { throw .damaged("\(name) has no value") }
    return try statement.integer()
  }

  /// The word that `PRAGMA text` answers with.
  func word(_ text: String) throws(IndexProblem) -> String {
    let statement = try prepare("PRAGMA \(text)")
    guard try statement.step() else { throw .damaged("\(text) has no value") }
    return try statement.text()
  }

  var isInTransaction: Bool {
    guard let handle = unsafe handle else { return false }
    return unsafe sqlite3_get_autocommit(handle) == 0
  }

  /// The number that the last inserted row got.
  var lastNumber: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

  /// Whether the file that is open is not the one that the path leads to any more.
  var hasMoved: Bool {
    var moved: CInt = 0
    let code = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
    return code == SQLITE_OK && moved != 0
  }
}

extension IndexProblem {
  static let closed = IndexProblem.storage(
    code: SQLITE_MISUSE, systemErrno: 0, "it has been closed")
}
