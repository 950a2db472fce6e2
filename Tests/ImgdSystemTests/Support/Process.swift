import Glibc

/// How many descriptors this process has open of the files whose names begin so; meaningful in an
/// exit test, where nobody else runs.
///
/// All of them cannot be counted: the runtime opens and closes some whenever it likes.
func openDescriptors(of prefix: String) -> Int {
  (0..<1_024).count { number in
    var room = [CChar](repeating: 0, count: 256)
    let length = readlink("/proc/self/fd/\(number)", &room, room.count)
    let letters = room.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }
    return length >= 0 && String(decoding: letters, as: UTF8.self).hasPrefix(prefix)
  }
}

/// Lets this thread have only so many descriptors; for exit tests alone.
///
/// The lowest three are the standard streams and stay open, so a limit of three forbids new ones,
/// and closing one of them makes room for one.
func limitDescriptors(to count: rlim_t) {
  keepDescriptorsToThisThread()
  var limit = rlimit(rlim_cur: count, rlim_max: 256)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Gives this thread, and those that it starts from now on, a table of descriptors of their own.
///
/// The runtime's threads open descriptors for themselves whenever they like. Without this they take
/// the place that a test has just made.
private func keepDescriptorsToThisThread() {
  typealias Unshare = @convention(c) (CInt) -> CInt
  let files: CInt = 0x400  // CLONE_FILES, which the C library's module leaves out with `unshare`
  guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(files) == 0
  else { preconditionFailure("a thread may always have its own table of descriptors") }
}

/// A directory of its own for one test, gone with it.
final class TemporaryDirectory {
  let path: String

  init() {
    var template = Array("/tmp/imgd-test-XXXXXX".utf8CString)
    mkdtemp(&template)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    guard let entries = opendir(path) else { return }
    while let entry = readdir(entries) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      unlink(path + "/" + name)
      rmdir(path + "/" + name)
    }
    closedir(entries)
    rmdir(path)
  }
}
