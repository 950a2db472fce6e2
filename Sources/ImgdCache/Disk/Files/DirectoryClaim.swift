import Glibc
internal import ImgdSystem

extension Directory {
  /// Opens the directory of a name. It is made if it is missing, and anything else in its place is set aside.
  func claim(_ name: String) throws(SystemFailure) -> Directory {
    if let found = try find(name) {
      if try found.status().owner == geteuid() { return found }
      try setAside(name)
    }
    return try make(name, permissions: DiskDirectory.directoryPermissions)
  }

  /// The directory of a name, or nil when the name is free or has just been freed.
  private func find(_ name: String) throws(SystemFailure) -> Directory? {
    do { return try directory(name) } catch {
      switch error.errno {
      case ENOENT: return nil
      case ENOTDIR, ELOOP: try setAside(name)
      default: throw error
      }
    }
    return nil
  }
}
