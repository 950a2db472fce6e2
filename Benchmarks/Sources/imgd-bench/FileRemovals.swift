private import CBench
import Glibc

/// The files that a daemon removes from its cache directory, counted as they go.
///
/// `stats` does not know them: an entry leaves the daemon's memory at once, and its file follows.
struct FileRemovals: ~Copyable {
  private static let patience = 30.0

  private let watch: Descriptor
  private var count = 0

  /// Begins to count.
  init(in cache: String) throws(BenchFailure) {
    // The path is read before the call returns.
    watch = unsafe Descriptor(owning: bench_watch_removals(cache + "/1"))
    guard watch.number >= 0 else { throw .system("inotify", cache) }
  }

  /// Takes in what has been removed, before the kernel has to keep too much.
  mutating func note(waiting seconds: Double = 0) throws(BenchFailure) {
    let some = bench_await_removals(watch.number, CInt(seconds * 1e3))
    guard some >= 0 else { throw .system("inotify", "the cache") }
    count += Int(some)
  }

  /// Waits until so many have been removed in all.
  mutating func await(_ wanted: Int) throws(BenchFailure) {
    while count < wanted {
      let before = count
      try note(waiting: Self.patience)
      guard count > before else {
        throw .unavailable("\(count) files have gone, and then no more of \(wanted)")
      }
    }
  }
}
