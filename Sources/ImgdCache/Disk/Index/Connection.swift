internal import CSQLite
import Glibc

/// One connection to a database of SQLite, for one thread.
@safe final class Connection {
  /// SQLite's handle; nil once the connection is closed.
  private var handle: OpaquePointer?
  private var statements = [Statement?](repeating: nil, count: IndexQuery.allCases.count)
  private var isWriting = false

  /// How long another process's lock is waited for, in milliseconds.
  private static let patience: Int32 = 250

  /// The layer through which SQLite uses the file system. It keeps an open file to this process alone, and the
  /// memory that its connections share on the heap. A mapped file for that would end the process if it were cut
  /// short, or could not be written any more.
  private static let fileSystem = "unix-excl"

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

  /// Refuses a file that was opened but cannot be written: SQLite does not report that.
  func expectWritable() throws(IndexProblem) {
    guard unsafe sqlite3_db_readonly(handle, "main") == 1 else { return }
    throw .storage(code: SQLITE_READONLY, systemErrno: EROFS, "it cannot be written")
  }

  /// Frees cached pages, which can be read again.
  func giveBack() { unsafe _ = sqlite3_db_release_memory(handle) }

  func close() {
    // Statements that still exist would keep the file open.
    statements.removeAll()
    unsafe _ = sqlite3_close_v2(handle)
    unsafe handle = nil
  }

  /// Disables features that we don't use but a crafted file could.
  private func restrict() {
    unsafe sqlite3_busy_timeout(handle, Self.patience)
    unsafe _ = sqlite_set_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
    for flag in [SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW] {
      unsafe _ = sqlite_set_flag(handle, flag, 0)
    }
    // Even a row with many headers is far smaller than this.
    unsafe _ = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 16 << 20)
    unsafe _ = sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    unsafe _ = sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0)
  }

  /// A statement that is used again and again; its first parameters are bound to these numbers.
  func statement<each Number: FixedWidthInteger>(_ query: IndexQuery, _ numbers: repeat each Number)
    throws(IndexProblem) -> Statement
  {
    guard !statements.isEmpty else { throw .closed }
    if let statement = statements[query.rawValue] {
      statement.reset()
      statement.bind(repeat each numbers)
      return statement
    }
    let statement = try prepare(query.text, isKept: true)
    statements[query.rawValue] = statement
    statement.bind(repeat each numbers)
    return statement
  }

  func run<each Number: FixedWidthInteger>(_ query: IndexQuery, _ numbers: repeat each Number) throws(IndexProblem) {
    try statement(query, repeat each numbers).run()
  }

  func prepare(_ text: String, isKept: Bool = false) throws(IndexProblem) -> Statement {
    guard let handle = unsafe handle else { throw .closed }
    var prepared: OpaquePointer?
    let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let code = unsafe sqlite3_prepare_v3(handle, text, -1, flags, &prepared, nil)
    guard code == SQLITE_OK, let prepared = unsafe prepared else { throw unsafe problem(of: handle) }
    return unsafe Statement(owning: prepared)
  }

  func execute(_ text: String) throws(IndexProblem) { try prepare(text).run() }

  func number(_ name: String) throws(IndexProblem) -> Int {
    let statement = try prepare("PRAGMA \(name)")
    guard try statement.step() else { throw .damaged("\(name) has no value") }
    return try statement.integer()
  }

  func word(_ text: String) throws(IndexProblem) -> String {
    let statement = try prepare("PRAGMA \(text)")
    guard try statement.step() else { throw .damaged("\(text) has no value") }
    return try statement.text()
  }

  var lastNumber: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

  var hasMoved: Bool {
    var moved: CInt = 0
    let code = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
    return code == SQLITE_OK && moved != 0
  }

  /// Waits until all that was committed is on the disk.
  func sync() throws(IndexProblem) {
    guard let handle = unsafe handle else { throw .closed }
    let code = unsafe sqlite_sync_log(handle)
    guard code == SQLITE_OK else {
      throw .storage(code: code, systemErrno: errno, "its log does not reach the disk")
    }
  }

  // MARK: Transactions

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
    try run(begin)
    do throws(IndexProblem) {
      let result = try body()
      try expectOpen()
      try run(.commit)
      return result
    } catch {
      // After some failures SQLite has undone everything itself. A failure to undo would add nothing to the error.
      if isInTransaction { try? run(.rollback) }
      throw error
    }
  }

  private func expectOpen() throws(IndexProblem) {
    guard !isInTransaction else { return }
    throw .storage(code: SQLITE_ABORT, systemErrno: 0, "the changes have been undone")
  }

  private var isInTransaction: Bool {
    guard let handle = unsafe handle else { return false }
    return unsafe sqlite3_get_autocommit(handle) == 0
  }
}

extension IndexProblem {
  static let closed = IndexProblem.storage(code: SQLITE_MISUSE, systemErrno: 0, "it has been closed")
}
