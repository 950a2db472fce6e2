import Glibc
internal import ImgdSystem

extension Directory {
  /// Opens the directory that belongs under a name; it is made when it is missing, and anything else
  /// that stands there is set aside.
  func claim(_ name: String) throws(SystemFailure) -> Directory {
    if let found = try find(name) {
      if try found.status().owner == geteuid() { return found }
      try setAside(name)
    }
    return try make(name, permissions: DiskDirectory.directoryPermissions)
  }

  /// The directory of that name, or nil when the name is free, even if it has only just become free.
  private func find(_ name: String) throws(SystemFailure) -> Directory? {
    do {
      return try directory(name)
    } catch {
      switch error.errno {
      case ENOENT: return nil
      case ENOTDIR, ELOOP: try setAside(name)
      default: throw error
      }
    }
    return nil
  }
}
