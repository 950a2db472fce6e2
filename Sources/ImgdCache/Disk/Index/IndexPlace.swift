internal import CSQLite
import Glibc

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
    for part in ["", "-wal", "-shm"] {
      let aside = path + ".aside" + part
      if unsafe Glibc.remove(aside) != 0, errno != ENOENT { throw .call("remove", aside) }
      if unsafe rename(path + part, aside) != 0, errno != ENOENT { throw .call("rename", path + part) }
    }
  }
}
