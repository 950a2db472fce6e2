import ImgdCache
import ImgdSystem

/// Failures to look up the name of a URL's host, which are remembered for seconds: a page that asks for a missing
/// picture again and again does not have its name looked up every time.
///
/// When there are too many, all of them are forgotten, which costs one more look-up for each.
struct UnknownNames {
  private static let most = 4_096
  private static let mostBytes = 4 << 20
  /// The bytes of an entry that are not counted one by one: its place in a table that is partly empty.
  private static let bookkeeping = 256

  private struct Entry {
    let failure: FetchFailure
    let notedAt: Instant
    let end: Instant
    let cost: Int
  }

  private var entries: [CacheKey: Entry] = [:]
  /// What they hold together.
  private(set) var bytes = 0

  var count: Int { entries.count }

  /// Remembers a failure in place of an earlier one under its key.
  mutating func note(_ failure: FetchFailure, for key: CacheKey, lasting time: Duration, at now: Instant) {
    forget(key)
    let cost = Self.bookkeeping + key.cost + failure.cost
    guard cost <= Self.mostBytes else { return }
    if entries.count >= Self.most || bytes + cost > Self.mostBytes { removeAll() }
    entries[key] = Entry(failure: failure, notedAt: now, end: now + time, cost: cost)
    bytes += cost
  }

  /// The failure under a key, and how long ago it was.
  mutating func find(_ key: CacheKey, at now: Instant) -> (failure: FetchFailure, age: Duration)? {
    guard !entries.isEmpty, let entry = entries[key] else { return nil }
    guard now < entry.end else {
      forget(key)
      return nil
    }
    return (entry.failure, max(now - entry.notedAt, .zero))
  }

  mutating func forget(_ key: CacheKey) {
    guard !entries.isEmpty, let entry = entries.removeValue(forKey: key) else { return }
    bytes -= entry.cost
  }

  mutating func removeAll() { (entries, bytes) = ([:], 0) }
}
