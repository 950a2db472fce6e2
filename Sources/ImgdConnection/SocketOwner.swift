import Glibc

/// The user and the group to whom a socket belongs, by name.
struct SocketOwner {
  let user: String
  let group: String

  /// The owner of the file with this path; nil if it cannot be looked at.
  init?(path: String) {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    guard unsafe stat(path, &status) == 0 else { return nil }
    user = Self.userName(status.st_uid)
    group = Self.groupName(status.st_gid)
  }

  private static func userName(_ uid: uid_t) -> String {
    // What is returned is the C library's until the next call of this thread, and is copied at once.
    guard let entry = unsafe getpwuid(uid), let name = unsafe entry.pointee.pw_name else {
      return String(uid)
    }
    return unsafe String(cString: name)
  }

  private static func groupName(_ gid: gid_t) -> String {
    // As above.
    guard let entry = unsafe getgrgid(gid), let name = unsafe entry.pointee.gr_name else {
      return String(gid)
    }
    return unsafe String(cString: name)
  }
}
