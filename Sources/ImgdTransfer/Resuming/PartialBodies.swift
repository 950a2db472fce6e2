internal import ImgdSystem

/// The facts that must be equal for one transfer to continue the body of another.
struct PartialKey: Hashable {
  let url: String
  /// Credentials included: a body is never shared between different ones.
  let headers: [HeaderField]
}

/// Partial bodies that wait to be continued by another transfer.
///
/// They are limited in number, size and age. There is no timer: old ones are removed at the next use.
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

  /// Keeps a partial body, replacing the one under the same key.
  mutating func add(_ body: PartialBody, for key: PartialKey, at now: Instant) {
    _ = takeBody(of: key, at: now)
    guard body.count <= Self.mostBytes, body.mayBeStored else { return }
    entries.append(Entry(key: key, body: body, since: now))
    bytes += body.count
    while entries.count > Self.most || bytes > Self.mostBytes { remove(at: 0) }
  }

  /// Removes and returns a partial body.
  mutating func takeBody(of key: PartialKey, at now: Instant) -> PartialBody? {
    while let oldest = entries.first, now - oldest.since > Self.longestWait { remove(at: 0) }
    return entries.firstIndex { $0.key == key }.map { remove(at: $0) }
  }

  mutating func removeAll() {
    entries.removeAll()
    bytes = 0
  }

  @discardableResult private mutating func remove(at index: Int) -> PartialBody {
    let body = entries.remove(at: index).body
    bytes -= body.count
    return body
  }
}
