/// Finds the place of a filter in a `PurgeTable`, and the places of filters that may match a key.
///
/// A lead is a seeded hash of one condition: the URL, or else the tag, the prefix, the host, the identifier. So
/// the filters that may match a key are found by one look for each of its tags, for each label of its host and for
/// each length of a prefix: URLs are hashed byte by byte, which yields the hash of each beginning on the way.
struct PurgeLeads {
  /// The kind of condition by which a filter is found.
  private enum Kind: UInt64 {
    case everything = 1
    case url, tag, prefix, host, identifier
  }

  // Random, so that nobody can prepare texts that all collide.
  private let factor = UInt64.random(in: .min ... .max) | 1
  private let start = UInt64.random(in: .min ... .max)
  /// How many places there are for prefixes of each length.
  private var lengths: [Int: Int] = [:]

  // MARK: Filters

  /// The place of a filter, and the condition that all filters at that place share.
  func lead(of filter: PurgeFilter) -> (place: UInt64, condition: PurgeFilter) {
    var condition = PurgeFilter()
    if let url = filter.url {
      condition.url = url
      return (place(.url, url.text), condition)
    }
    if let tag = filter.tag {
      condition.tag = tag
      return (place(.tag, tag), condition)
    }
    if let prefix = filter.prefix {
      condition.prefix = prefix
      return (place(.prefix, prefix), condition)
    }
    if let host = filter.host {
      condition.host = host
      return (ended(host.utf8.reversed().reduce(start) { next($0, lowerCase($1)) }, .host), condition)
    }
    if let identifier = filter.identifier {
      condition.identifier = identifier
      return (place(.identifier, identifier), condition)
    }
    return (ended(start, .everything), condition)
  }

  /// Notes that a place for a condition has been added, or removed.
  mutating func note(_ condition: PurgeFilter, isGone: Bool = false) {
    guard let prefix = condition.prefix else { return }
    let length = prefix.utf8.count
    lengths[length, default: 0] += isGone ? -1 : 1
    if lengths[length] == 0 { lengths[length] = nil }
  }

  // MARK: Keys

  /// All places of filters that may match a key with these tags.
  func places(for key: CacheKey, tags: [String]) -> [UInt64] {
    var places = [ended(start, .everything), place(.identifier, key.identifier ?? "")]
    for tag in tags { places.append(place(.tag, tag)) }
    let url = key.url.text.utf8
    if lengths[0] != nil { places.append(ended(start, .prefix)) }
    var (state, length) = (start, 0)
    for byte in url {
      state = next(state, byte)
      length += 1
      if !lengths.isEmpty, lengths[length] != nil { places.append(ended(state, .prefix)) }
    }
    places.append(ended(state, .url))
    appendHosts(above: key.url.host, to: &places)
    return places
  }

  /// Appends the places of a host and of the domains that it lies below.
  private func appendHosts(above host: String, to places: inout [UInt64]) {
    var state = start
    for byte in host.utf8.reversed() {
      if byte == UInt8(ascii: ".") { places.append(ended(state, .host)) }
      state = next(state, byte)
    }
    places.append(ended(state, .host))
  }

  // MARK: Hashes

  private func place(_ kind: Kind, _ text: String) -> UInt64 { ended(text.utf8.reduce(start) { next($0, $1) }, kind) }

  @inline(__always) private func next(_ state: UInt64, _ byte: UInt8) -> UInt64 {
    fold(state ^ (UInt64(byte) + 1), factor)
  }

  private func ended(_ state: UInt64, _ kind: Kind) -> UInt64 { fold(state ^ kind.rawValue << 32, factor) }
}
