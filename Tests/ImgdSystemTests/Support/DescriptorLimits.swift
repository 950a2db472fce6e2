import Glibc

/// The number of open descriptors of files whose paths begin with `prefix`; for exit tests, where no
/// other test runs.
///
/// The total is not stable: the runtime opens and closes descriptors at any time.
func openDescriptors(of prefix: String) -> Int {
  (0..<1_024).count { number in
    var room = [CChar](repeating: 0, count: 256)
    let length = readlink("/proc/self/fd/\(number)", &room, room.count)
    let letters = room.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }
    return length >= 0 && String(decoding: letters, as: UTF8.self).hasPrefix(prefix)
  }
}

/// Limits the descriptors of this thread; for exit tests only.
///
/// The lowest three are the standard streams and stay open, so a limit of three forbids new ones, and
/// closing one of them permits one.
func limitDescriptors(to count: rlim_t) {
  keepDescriptorsToThisThread()
  limitFiles(to: count)
  // A sanitizer that looks for lost memory at the end of the process opens files.
  atexit { limitFiles(to: 256) }
}

private func limitFiles(to count: rlim_t) {
  var limit = rlimit(rlim_cur: count, rlim_max: 256)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Gives this thread, and those that it starts from now on, its own descriptor table.
///
/// Otherwise the runtime's threads could take a descriptor that a test has just freed.
private func keepDescriptorsToThisThread() {
  typealias Unshare = @convention(c) (CInt) -> CInt
  let files: CInt = 0x400  // CLONE_FILES, which the C library's module leaves out with `unshare`
  guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(files) == 0
  else { preconditionFailure("every thread may unshare its descriptor table") }
}
