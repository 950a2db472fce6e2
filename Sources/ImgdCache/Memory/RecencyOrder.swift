/// Places in the order of their last use.
///
/// The links are numbers in one array: to move a place to the front touches four cells of it and no
/// reference count. A place that became free is given again.
struct RecencyOrder {
  private struct Link {
    var newer = none
    var older = none
  }

  private static let none: Int32 = -1

  private var links: [Link] = []
  private var free: [Int32] = []
  private var newest = none
  private var oldest = none

  init() {}

  /// The place that the next insertion gives.
  var nextPlace: Int { free.last.map(Int.init) ?? links.count }

  /// The place that was not used for longest.
  var leastRecent: Int? { oldest == Self.none ? nil : Int(oldest) }

  /// The places in use, the most recently used first.
  var newestFirst: some Sequence<Int> {
    sequence(state: newest) { next in
      guard next != Self.none else { return nil }
      defer { next = links[Int(next)].older }
      return Int(next)
    }
  }

  /// The places in use, the least recently used first.
  var oldestFirst: some Sequence<Int> {
    sequence(state: oldest) { next in
      guard next != Self.none else { return nil }
      defer { next = links[Int(next)].newer }
      return Int(next)
    }
  }

  /// Gives out a place as the most recently used, or as the least.
  mutating func insert(asNewest: Bool = true) -> Int {
    let place = free.popLast() ?? Int32(links.count)
    if Int(place) == links.count { links.append(Link()) }
    if asNewest { linkAsNewest(place) } else { linkAsOldest(place) }
    return Int(place)
  }

  /// Makes a place the most recently used.
  @inline(__always)
  mutating func touch(_ place: Int) {
    let place = Int32(truncatingIfNeeded: place)
    guard place != newest else { return }
    unlink(place)
    linkAsNewest(place)
  }

  mutating func remove(_ place: Int) {
    unlink(Int32(place))
    free.append(Int32(place))
  }

  private mutating func linkAsNewest(_ place: Int32) {
    links[Int(place)] = Link(newer: Self.none, older: newest)
    if newest == Self.none { oldest = place } else { links[Int(newest)].newer = place }
    newest = place
  }

  private mutating func linkAsOldest(_ place: Int32) {
    links[Int(place)] = Link(newer: oldest, older: Self.none)
    if oldest == Self.none { newest = place } else { links[Int(oldest)].older = place }
    oldest = place
  }

  private mutating func unlink(_ place: Int32) {
    let link = links[Int(place)]
    if link.newer == Self.none {
      newest = link.older
    } else {
      links[Int(link.newer)].older = link.older
    }
    if link.older == Self.none {
      oldest = link.newer
    } else {
      links[Int(link.older)].newer = link.newer
    }
  }
}
