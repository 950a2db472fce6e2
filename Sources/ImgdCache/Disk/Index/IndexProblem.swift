internal import CSQLite
import Glibc

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

  /// The problem that a result code of SQLite stands for.
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

  /// A failed system call on the file, with the reason in `errno`.
  static func call(_ name: String, _ path: String, errno code: Int32 = errno) -> IndexProblem {
    .storage(code: SQLITE_IOERR, systemErrno: code, "\(name) \(path)")
  }
}
