internal import CSQLite

/// The steps of opening an index file after the connection to it.
struct IndexOpening {
  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  /// Prepares for reading, and returns whether the last writer closed the file properly.
  func toRead() throws(IndexProblem) -> Bool {
    try IndexSchema.verify(connection)
    // No mapping: a mapped file that is cut short would end the process.
    for text in ["mmap_size = 0", "cache_size = -2048", "query_only = ON"] { try connection.execute("PRAGMA \(text)") }
    return try isClean()
  }

  /// Makes the tables if there are none, and marks the file as in use; returns whether the last
  /// writer closed it properly.
  func toWrite(isNew: Bool) throws(IndexProblem) -> Bool {
    let isBlank = try IndexSchema.isBlank(connection)
    if !isBlank { try IndexSchema.verify(connection) }
    try connection.expectWritable()
    try tune()
    if isBlank { try IndexSchema.create(in: connection, isClean: isNew) }
    let wasClean = try isClean()
    if wasClean { try mark(clean: false) }
    try connection.execute("PRAGMA synchronous = NORMAL")
    return wasClean
  }

  func mark(clean: Bool) throws(IndexProblem) {
    let statement = try connection.statement(.writeClean)
    statement.bind(clean ? 1 : 0)
    try statement.run()
  }

  private func tune() throws(IndexProblem) {
    guard try connection.word("journal_mode = WAL") == "wal" else {
      throw .storage(code: SQLITE_IOERR, systemErrno: 0, "no log can be kept beside it")
    }
    for text in [
      "synchronous = FULL", "mmap_size = 0", "cache_size = -8192", "temp_store = MEMORY",
      // Some builds overwrite what was removed with zeros, which writes every page once more.
      "secure_delete = OFF", "cell_size_check = ON", "wal_autocheckpoint = 1000", "journal_size_limit = 16777216",
    ] { try connection.execute("PRAGMA \(text)") }
  }

  private func isClean() throws(IndexProblem) -> Bool {
    let statement = try connection.statement(.readClean)
    defer { statement.reset() }
    guard try statement.step() else { throw .damaged("it has no state") }
    return try statement.integer(UInt8.self) == 1
  }
}
