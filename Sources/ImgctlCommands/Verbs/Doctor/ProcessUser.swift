import Glibc

/// The user who runs imgctl.
enum ProcessUser {
  static var effective: UInt32 { geteuid() }

  /// Whether the system lists the user in a group; the process may have been started before it did.
  static func isListed(inGroup gid: UInt32) -> Bool {
    // The result belongs to the C library until the next call of this thread, and is copied at once.
    guard let entry = unsafe getpwuid(effective), let name = unsafe entry.pointee.pw_name else { return false }
    let user = unsafe String(cString: name)
    let own = unsafe entry.pointee.pw_gid
    var count: CInt = 0
    // The first call fails and tells how many there are; the lists may change before the second.
    _ = unsafe getgrouplist(user, own, nil, &count)
    guard count > 0 else { return false }
    var groups = [gid_t](repeating: 0, count: Int(count))
    let found = unsafe getgrouplist(user, own, &groups, &count)
    return found > 0 && groups.prefix(Int(found)).contains(gid)
  }
}
