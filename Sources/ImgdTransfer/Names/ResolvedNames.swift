internal import ImgdSystem

/// The addresses of names, for as long as they are used without asking again.
///
/// They are limited in number and age. There is no timer: old ones are removed when new ones come.
struct ResolvedNames {
  static let most = 1_024
  static let lifetime = Duration.seconds(60)

  private struct Entry {
    let addresses: [IPAddress]
    let since: Instant
  }

  private var entries: [String: Entry] = [:]
  /// Every entry once, the oldest first; one that was replaced appears twice until it comes up.
  private var ages = Fifo<(name: String, since: Instant)>()

  var count: Int { entries.count }

  subscript(name: String, at now: Instant) -> [IPAddress]? {
    guard let entry = entries[name], now - entry.since < Self.lifetime else { return nil }
    return entry.addresses
  }

  mutating func add(_ addresses: [IPAddress], for name: String, at now: Instant) {
    entries[name] = Entry(addresses: addresses, since: now)
    ages.append((name, now))
    while ages.count > Self.most, let oldest = ages.popFirst() {
      if entries[oldest.name]?.since == oldest.since { entries[oldest.name] = nil }
    }
  }
}
