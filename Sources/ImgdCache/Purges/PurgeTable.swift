package import ImgdSystem

/// What purges do to a picture.
package enum PurgeVerdict {
  case untouched
  /// A soft purge matches it, or it is unknown whether any does: its origin has to confirm it.
  case stale
  case purged
}

/// Purges by their conditions, so that those that match a picture are found without looking at the others.
///
/// Of purges with the same names only the newest is kept, separately for soft and hard ones and for those with and
/// without an age. If very many stand under one lead, all their other conditions are given up: fetching some
/// pictures anew that no purge meant is the safe mistake.
package struct PurgeTable {
  /// How many filters under one lead are told apart.
  package static let mostUnderOneLead = 32

  /// The newest purge of one kind. For those with an age, the newest number and the latest limit are merged: a
  /// picture that was stored before a purge's limit was also fetched before that purge was asked for.
  private struct Newest {
    var number: UInt64 = 0
    var limit: Instant?

    mutating func merge(_ other: Newest) {
      number = max(number, other.number)
      limit = limit.map { max($0, other.limit ?? $0) } ?? other.limit
    }

    func means(after mark: UInt64, storedAt: Instant?) -> Bool {
      guard number > mark else { return false }
      guard let limit else { return true }
      return storedAt.map { $0 < limit } ?? false
    }
  }

  private struct Names {
    let filter: PurgeFilter
    var hard = Newest()
    var soft = Newest()
    var agedHard = Newest()
    var agedSoft = Newest()

    init(_ filter: PurgeFilter) { self.filter = filter }

    var newest: UInt64 { max(hard.number, agedHard.number, soft.number, agedSoft.number) }

    mutating func merge(_ other: Names) {
      hard.merge(other.hard)
      agedHard.merge(other.agedHard)
      soft.merge(other.soft)
      agedSoft.merge(other.agedSoft)
    }
  }

  private struct Place {
    let condition: PurgeFilter
    var names: [Names] = []
  }

  private var leads = PurgeLeads()
  private var places: [UInt64: Place] = [:]
  /// The newest purge of any tag: for pictures that have every tag.
  private var (hardTag, softTag): (UInt64, UInt64) = (0, 0)
  /// How many filters are found by their tag.
  private var tagged = 0
  /// How many times a filter was compared with a key.
  package private(set) var comparisons = 0
  /// The memory that it takes, roughly.
  package private(set) var bytes = 0
  package private(set) var count = 0

  package init() {}

  /// Adds a purge; with a limit it is only about pictures that were stored before that.
  package mutating func add(_ filter: PurgeFilter, isSoft: Bool, number: UInt64, storedBefore limit: Instant?) {
    let newest = Newest(number: number, limit: limit)
    var names = Names(filter.namesOnly)
    switch (isSoft, limit != nil) {
    case (false, false): names.hard = newest
    case (false, true): names.agedHard = newest
    case (true, false): names.soft = newest
    case (true, true): names.agedSoft = newest
    }
    let lead = leads.lead(of: filter)
    put(names, at: lead)
    guard lead.condition.tag != nil else { return }
    if isSoft { softTag = max(softTag, number) } else { hardTag = max(hardTag, number) }
  }

  private mutating func put(_ names: Names, at lead: (place: UInt64, condition: PurgeFilter)) {
    if places[lead.place] == nil { leads.note(lead.condition) }
    var place = places.removeValue(forKey: lead.place) ?? Place(condition: lead.condition)
    if let known = place.names.firstIndex(where: { $0.filter.hasSameNames(as: names.filter) }) {
      place.names[known].merge(names)
    } else {
      place.names.append(names)
      count(names, 1)
    }
    if place.names.count > Self.mostUnderOneLead { merge(&place) }
    places[lead.place] = place
  }

  private mutating func merge(_ place: inout Place) {
    var all = Names(place.condition)
    count(all, 1)
    for names in place.names {
      all.merge(names)
      count(names, -1)
    }
    place.names = [all]
  }

  private mutating func count(_ names: Names, _ change: Int) {
    count += change
    bytes += change * names.filter.roughBytes
    guard names.filter.url == nil, names.filter.tag != nil else { return }
    tagged += change
    if tagged == 0 { (hardTag, softTag) = (0, 0) }
  }

  /// Forgets the purges up to a number that share the place of a filter.
  package mutating func forget(_ filter: PurgeFilter, upTo number: UInt64) {
    let lead = leads.lead(of: filter)
    guard var place = places.removeValue(forKey: lead.place) else { return }
    for names in place.names where names.newest <= number { count(names, -1) }
    place.names.removeAll { $0.newest <= number }
    if place.names.isEmpty { leads.note(place.condition, isGone: true) } else { places[lead.place] = place }
  }

  /// The worst that purges after a mark do to a picture. A picture that is not stored yet is new, so no purge with
  /// a limit is about it.
  package mutating func verdict(on key: CacheKey, tags: [String], after mark: UInt64, storedAt: Instant?)
    -> PurgeVerdict
  {
    guard count > 0 else { return .untouched }
    var verdict = PurgeVerdict.untouched
    if EntryTags.areMore(tags) {
      if hardTag > mark { return .purged }
      if softTag > mark { verdict = .stale }
    }
    for place in leads.places(for: key, tags: tags) {
      guard let names = places[place]?.names else { continue }
      for names in names {
        comparisons += 1
        guard names.newest > mark, names.filter.matchesName(key, tags: tags) else { continue }
        if names.hard.means(after: mark, storedAt: storedAt) || names.agedHard.means(after: mark, storedAt: storedAt) {
          return .purged
        }
        if names.soft.means(after: mark, storedAt: storedAt) || names.agedSoft.means(after: mark, storedAt: storedAt) {
          verdict = .stale
        }
      }
    }
    return verdict
  }
}

/// Finds the place of a filter in a `PurgeTable`, and the places of filters that may match a key.
///
/// A lead is a seeded hash of one condition: the URL, or else the tag, the prefix, the host, the identifier. So
/// the filters that may match a key are found by one look for each of its tags, for each label of its host and for
/// each length of a prefix: URLs are hashed byte by byte, which yields the hash of each beginning on the way.
struct PurgeLeads {
  private enum Kind: UInt64 {
    case everything = 1
    case url, tag, prefix, host, identifier
  }

  // Random, so that nobody can prepare texts that all collide.
  private let factor = UInt64.random(in: .min ... .max) | 1
  private let start = UInt64.random(in: .min ... .max)
  /// How many places there are for prefixes of each length.
  private var lengths: [Int: Int] = [:]

  /// The place of a filter, and the condition that all filters at that place share.
  func lead(of filter: PurgeFilter) -> (place: UInt64, condition: PurgeFilter) {
    var condition = PurgeFilter()
    if let url = filter.url {
      condition.url = url
      return (place(.url, url.text.utf8), condition)
    }
    if let tag = filter.tag {
      condition.tag = tag
      // Where the hosts are given up, groups with that name still count.
      condition.host = PurgeFilter.anyHost
      return (place(.tag, tag.utf8), condition)
    }
    if let prefix = filter.prefix {
      condition.prefix = prefix
      return (place(.prefix, prefix.utf8), condition)
    }
    if let host = filter.host {
      condition.host = host
      return (ended(host.utf8.reversed().reduce(start) { next($0, lowerCase($1)) }, .host), condition)
    }
    if let identifier = filter.identifier {
      condition.identifier = identifier
      return (place(.identifier, identifier.utf8), condition)
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

  func places(for key: CacheKey, tags: [String]) -> [UInt64] {
    var places = [ended(start, .everything), place(.identifier, (key.identifier ?? "").utf8)]
    for tag in tags { places.append(place(.tag, EntryTags.name(of: tag))) }
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

  private func place(_ kind: Kind, _ text: some Sequence<UInt8>) -> UInt64 {
    ended(text.reduce(start) { next($0, $1) }, kind)
  }

  @inline(__always) private func next(_ state: UInt64, _ byte: UInt8) -> UInt64 {
    fold(state ^ (UInt64(byte) + 1), factor)
  }

  private func ended(_ state: UInt64, _ kind: Kind) -> UInt64 { fold(state ^ kind.rawValue << 32, factor) }
}
