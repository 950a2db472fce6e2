import Glibc

/// The user and the group that a socket belongs to, by name.
package struct SocketOwner {
  package let user: String
  package let group: String
  package let gid: UInt32
  /// The permission bits.
  package let permissions: UInt32

  /// The owner of the socket with this path; nil if there is no such socket, or none that this user can see.
  package init?(path: String) {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    guard unsafe stat(path, &status) == 0 else { return nil }
    user = Self.userName(status.st_uid)
    group = Self.groupName(status.st_gid)
    gid = status.st_gid
    permissions = status.st_mode & 0o7777
  }

  /// The name of a user in the system's list; the number if there is none.
  package static func userName(_ uid: UInt32) -> String {
    // The result belongs to the C library until the next call of this thread, and is copied at once.
    guard let entry = unsafe getpwuid(uid), let name = unsafe entry.pointee.pw_name else { return String(uid) }
    return unsafe String(cString: name)
  }

  private static func groupName(_ gid: gid_t) -> String {
    // As above.
    guard let entry = unsafe getgrgid(gid), let name = unsafe entry.pointee.gr_name else { return String(gid) }
    return unsafe String(cString: name)
  }
}
