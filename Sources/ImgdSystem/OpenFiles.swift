import Glibc

/// How many descriptors the process may have.
package enum OpenFiles {
  /// Raises the soft limit to the hard one: clients and pictures are descriptors.
  package static func raiseLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Whether a descriptor that was just opened is one of the last quarter, which is for clients,
  /// downloads and files: the kernel hands out the lowest number that is free.
  static func isReserve(_ number: CInt) -> Bool {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return false
    }
    return rlim_t(number) >= limit.rlim_cur - limit.rlim_cur / 4
  }
}
