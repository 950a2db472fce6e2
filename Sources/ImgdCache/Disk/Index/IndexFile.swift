internal import CSQLite
import Glibc
internal import ImgdSystem

/// The index file of the disk tier: which entries there are, under which names, and what has to be removed.
///
/// A connection belongs to one thread. The writer has the one that may write; a reader has a second
/// one, which sees what the first has committed and never waits for it.
///
/// Changes are made inside `write`, all or nothing. What is committed need not be on the disk yet: a kill loses
/// nothing of it, a power loss may lose what has come since the last `sync`, but neither damages the file. The mark that
/// the file is in use reaches the disk before anything else is written, so after a power loss `wasClean` is false.
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

  /// Opens the file; for writing, it is made if it is missing, and marked as in use.
  package init(path: String, access: Access) throws(IndexProblem) {
    let isNew = try IndexPlace.prepare(path, creating: access == .readWrite)
    connection = try Connection(path: path, isReadOnly: access == .readOnly)
    self.access = access
    let opening = IndexOpening(connection: connection)
    switch access {
    case .readOnly: wasClean = try opening.toRead()
    case .readWrite: wasClean = try opening.toWrite(isNew: isNew)
    }
    unlinks = PendingUnlinks(connection: connection)
    entries = IndexEntries(connection: connection, unlinks: unlinks)
    removals = RemovalRows(connection: connection)
    fleet = FleetRows(connection: connection)
  }

  /// Closes the file; `clean` says that the directory is known to have just the files that the index names.
  package func close(clean: Bool) throws(IndexProblem) {
    defer { connection.close() }
    guard access == .readWrite else { return }
    if clean { try IndexOpening(connection: connection).mark(clean: true) }
    // A reader may be in the way; then the next writer carries the log over.
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  func giveBack() { connection.giveBack() }

  /// Whether its path still leads to it; otherwise what is written to it is lost.
  package var isInPlace: Bool { !connection.hasMoved }

  /// Carries out changes together: after an error, which `body` has to pass on, none has been made.
  package func write<T>(_ body: () throws(IndexProblem) -> T) throws(IndexProblem) -> T { try connection.write(body) }

  /// Has all that was committed outlive the machine.
  package func sync() throws(IndexProblem) { try connection.sync() }

  /// Begins to look for the entries that a removal covers, in no particular order.
  package func search(_ order: RemovalOrder) throws(IndexProblem) -> IndexSearch {
    try IndexSearch(order, in: connection)
  }

  func scan(_ orders: [RemovalOrder]) throws(IndexProblem) -> IndexScan { try IndexScan(orders, in: connection) }
}

/// The index file as a name in its directory.
enum IndexPlace {
  /// Refuses anything that is not a file of our own, or makes a missing file; returns whether it made one. No other
  /// user can read it, since it holds URLs; SQLite gives its other files the same permissions.
  ///
  /// An existing file is only looked at by name. Opening and closing it here would release the locks
  /// of a connection that this process has already.
  static func prepare(_ path: String, creating: Bool) throws(IndexProblem) -> Bool {
    var status = stat()
    guard unsafe lstat(path, &status) != 0 else {
      try judge(status, path, securing: creating)
      return false
    }
    guard errno == ENOENT else { throw .call("lstat", path) }
    if creating { try create(path) }
    return creating
  }

  private static func judge(_ status: stat, _ path: String, securing: Bool) throws(IndexProblem) {
    guard status.st_mode & S_IFMT == S_IFREG else { throw .damaged("\(path) is no plain file") }
    guard status.st_uid == geteuid() else { throw .damaged("\(path) belongs to another user") }
    // SQLite would take such a file for an empty one.
    guard status.st_size != 1 else { throw .damaged("\(path) has a single byte") }
    guard securing, status.st_mode & 0o7777 != rights else { return }
    guard unsafe chmod(path, rights) == 0 else { throw .call("chmod", path) }
  }

  private static func create(_ path: String) throws(IndexProblem) {
    let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, rights)
    guard file >= 0 else { throw .call("create", path) }
    Glibc.close(file)
  }

  private static let rights: mode_t = 0o600

  /// Moves an unusable index out of the way, replacing one that was set aside earlier. No connection
  /// may have it open.
  ///
  /// The file itself goes first: SQLite discards a log without its file when a new file begins.
  static func setAside(path: String) throws(IndexProblem) {
    for (file, aside) in files(at: path) {
      if unsafe Glibc.remove(aside) != 0, errno != ENOENT { throw .call("remove", aside) }
      if unsafe rename(file, aside) != 0, errno != ENOENT { throw .call("rename", file) }
    }
  }

  /// Removes the index that was set aside, if there is one; returns the bytes that it had.
  static func removeAside(path: String) -> Int {
    files(at: path).reduce(0) { bytes, file in
      let status = try? FileStatus.of(path: file.aside)
      return unsafe Glibc.remove(file.aside) == 0 ? bytes + (status?.allocated ?? 0) : bytes
    }
  }

  /// The files of an index, and where they are when it is set aside.
  private static func files(at path: String) -> [(file: String, aside: String)] {
    ["", "-wal", "-shm"].map { (path + $0, path + ".aside" + $0) }
  }
}

struct IndexOpening {
  let connection: Connection

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
    if isBlank { try IndexSchema.create(in: connection, isClean: isNew) } else { try IndexSchema.raise(connection) }
    let wasClean = try isClean()
    if wasClean { try mark(clean: false) }
    try connection.execute("PRAGMA synchronous = NORMAL")
    return wasClean
  }

  func mark(clean: Bool) throws(IndexProblem) {
    try connection.run(.writeClean, clean ? 1 : 0)
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
    let clean = try connection.statement(.readClean).first { (row) throws(IndexProblem) in try row.integer(UInt8.self) }
    guard let clean else { throw .damaged("it has no state") }
    return clean == 1
  }
}

/// Why the index file could not be used, by what can be done about it.
package enum IndexProblem: Error, Sendable, CustomStringConvertible {
  /// It holds something that this program never writes: nothing in it can be trusted, so start over.
  case damaged(String)
  /// A later version wrote it, in the layout with this number.
  case fromTheFuture(Int)
  /// Another process holds its lock; it may work later.
  case busy
  /// The record of one picture is too long to be kept; nothing is wrong with the file.
  case tooLarge
  /// The file system refused; the file may be whole. `code` is SQLite's extended result code.
  case storage(code: Int32, systemErrno: Int32, String)

  package var description: String {
    switch self {
    case .damaged(let reason): "the index is damaged: \(reason)"
    case .fromTheFuture(let version): "the index has layout \(version), and this version reads \(IndexSchema.version)"
    case .busy: "the index is locked by another process"
    case .tooLarge: "a record is larger than \(RecordCodec.mostBytes) bytes"
    case .storage(_, let errno, let reason):
      errno == 0
        ? "the index cannot be used: \(reason)"
        : "the index cannot be used: \(reason): \(unsafe String(cString: strerror(errno)))"
    }
  }

  init(code: Int32, systemErrno: Int32, reason: String) {
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
    // Our statements are right for our tables, so these codes point to other tables or rows.
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG:
      self = .damaged(reason)
    // SQLite itself tells a full disk from other failures, but does not keep the system's number.
    case SQLITE_FULL: self = .storage(code: code, systemErrno: ENOSPC, reason)
    // Only these two leave a number of their own behind.
    case SQLITE_IOERR, SQLITE_CANTOPEN: self = .storage(code: code, systemErrno: systemErrno, reason)
    default: self = .storage(code: code, systemErrno: 0, reason)
    }
  }

  static func call(_ name: String, _ path: String, errno code: Int32 = errno) -> IndexProblem {
    .storage(code: SQLITE_IOERR, systemErrno: code, "\(name) \(path)")
  }
}
