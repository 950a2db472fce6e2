internal import ImgdSystem

/// What has to be the same for one transfer to continue what another has begun.
struct PartialKey: Hashable {
  /// Of the hop that delivered the body.
  let url: String
  /// What the order brought, credentials and all: nobody is given what was sent to somebody else.
  let ordered: [HeaderField]
  /// What of it the hop has seen.
  let sent: [HeaderField]
}

/// Beginnings of bodies that wait for somebody to ask for them again.
///
/// Few, small and not for long, and without a timer: what is too old goes when somebody looks.
struct PartialBodies {
  static let most = 64
  static let mostBytes = 32 << 20
  static let longestWait = Duration.seconds(600)

  private struct Entry {
    let key: PartialKey
    let body: PartialBody
    let since: Instant
  }

  /// The oldest first.
  private var entries: [Entry] = []
  private(set) var bytes = 0

  var count: Int { entries.count }

  /// Keeps a beginning, in place of what there is under the key.
  mutating func add(_ body: PartialBody, for key: PartialKey, at now: Instant) {
    _ = take(key, at: now)
    guard body.count <= Self.mostBytes, body.mayBeStored else { return }
    entries.append(Entry(key: key, body: body, since: now))
    bytes += body.count
    while entries.count > Self.most || bytes > Self.mostBytes { remove(at: 0) }
  }

  /// Hands a beginning out, once.
  mutating func take(_ key: PartialKey, at now: Instant) -> PartialBody? {
    while let oldest = entries.first, now - oldest.since > Self.longestWait { remove(at: 0) }
    return entries.firstIndex { $0.key == key }.map { remove(at: $0) }
  }

  mutating func removeAll() {
    entries.removeAll()
    bytes = 0
  }

  @discardableResult
  private mutating func remove(at index: Int) -> PartialBody {
    let body = entries.remove(at: index).body
    bytes -= body.count
    return body
  }
}
