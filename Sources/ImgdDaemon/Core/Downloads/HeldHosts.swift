import ImgdSystem

/// The hosts that have asked to be left alone, by the end of that time.
struct HeldHosts {
  /// Of more, the one whose time ends first is asked again early.
  private static let most = 1_000

  private var byEnd = KeyedHeap<String>()

  var next: Instant? { byEnd.firstKey.map { Instant(nanoseconds: $0) } }

  /// Takes in a host, or gives it another end; answers one that has to go for it.
  mutating func insert(_ host: String, until end: Instant) -> String? {
    byEnd.insert(host, key: end.nanoseconds)
    guard byEnd.count > Self.most, let first = byEnd.first else { return nil }
    byEnd.remove(first)
    return first
  }

  /// Takes out a host whose time is over.
  mutating func popFirst(at now: Instant) -> String? {
    guard let next, next <= now, let first = byEnd.first else { return nil }
    byEnd.remove(first)
    return first
  }
}
