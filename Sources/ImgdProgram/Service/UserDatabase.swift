import Glibc

/// Users and groups as the system's database has them now. The answers of the C library belong to it until the next
/// question, and are copied at once: only one thread may ask.
package enum UserDatabase {
  /// The number of a user, by its name or as it stands there; nil for a name that nobody has.
  package static func number(ofUser name: String) -> UInt32? {
    unsafe getpwnam(name).map { unsafe $0.pointee.pw_uid } ?? UInt32(name)
  }

  /// The number of a group in the same way.
  package static func number(ofGroup name: String) -> UInt32? {
    unsafe getgrnam(name).map { unsafe $0.pointee.gr_gid } ?? UInt32(name)
  }

  /// The groups of a user; none where the database does not know it.
  package static func groups(ofUser uid: UInt32) -> [UInt32] {
    guard let entry = unsafe getpwuid(uid), let name = unsafe entry.pointee.pw_name else { return [] }
    return groups(of: unsafe String(cString: name), unsafe entry.pointee.pw_gid)
  }

  /// The groups of a user, with the one that is named.
  static func groups(of user: String, _ own: UInt32) -> [UInt32] {
    var count: CInt = 0
    // The first call fails and tells how many there are; the lists may change before the second.
    _ = unsafe getgrouplist(user, own, nil, &count)
    guard count > 0 else { return [] }
    var groups = [gid_t](repeating: 0, count: Int(count))
    let found = unsafe getgrouplist(user, own, &groups, &count)
    return found > 0 ? Array(groups.prefix(Int(found))) : []
  }
}
