/// Places from the newest to the oldest.
///
/// The links are numbers in one array: moving a place to the front touches four of its cells and no
/// reference count. A place is in the chain once, or not at all.
struct PlaceChain {
  private struct Link {
    var newer = outside
    var older = outside
  }

  private static let none: Int32 = -1
  private static let outside: Int32 = -2

  private var links: [Link] = []
  private var first = none
  private var last = none

  init() {}

  /// How many places there are, in the chain and outside it.
  var capacity: Int { links.count }

  /// The memory that the links take.
  var heldBytes: Int { links.capacity * MemoryLayout<Link>.stride }

  private var newest: Int? { first == Self.none ? nil : Int(first) }

  /// The place at the end.
  var oldest: Int? { last == Self.none ? nil : Int(last) }

  var newestFirst: some Sequence<Int> {
    sequence(state: newest) { next in
      guard let place = next else { return nil }
      next = older(than: place)
      return place
    }
  }

  var oldestFirst: some Sequence<Int> {
    sequence(state: oldest) { next in
      guard let place = next else { return nil }
      next = Self.place(links[place].newer)
      return place
    }
  }

  private func older(than place: Int) -> Int? { Self.place(links[place].older) }

  private static func place(_ link: Int32) -> Int? { link == none ? nil : Int(link) }

  /// Puts a place that is not in the chain in front.
  mutating func putInFront(_ place: Int) {
    makeRoom(for: place)
    linkInFront(Int32(place))
  }

  /// Puts a place that is not in the chain at the end.
  mutating func putAtEnd(_ place: Int) {
    makeRoom(for: place)
    let place = Int32(place)
    links[Int(place)] = Link(newer: last, older: Self.none)
    if last == Self.none { first = place } else { links[Int(last)].older = place }
    last = place
  }

  /// Moves a place of the chain to the front.
  @inline(__always) mutating func moveToFront(_ place: Int) {
    let place = Int32(truncatingIfNeeded: place)
    guard place != first else { return }
    let end = Self.move(place, inFrontOf: first, in: links.mutableSpan)
    if let end { last = end }
    first = place
  }

  /// Relinks a place, and returns the new end if the place was the last one. With a span the array is checked
  /// for other owners once, and not for each link.
  @inline(__always) private static func move(
    _ place: Int32, inFrontOf first: Int32, in span: consuming MutableSpan<Link>
  ) -> Int32? {
    var links = span
    let link = links[Int(place)]
    links[Int(link.newer)].older = link.older
    if link.older != none { links[Int(link.older)].newer = link.newer }
    links[Int(place)] = Link(newer: none, older: first)
    links[Int(first)].newer = place
    return link.older == none ? link.newer : nil
  }

  /// Takes a place out of the chain.
  mutating func remove(_ place: Int) {
    unlink(Int32(place))
    links[place] = Link()
  }

  private mutating func makeRoom(for place: Int) {
    guard place >= links.count else { return }
    links.append(contentsOf: repeatElement(Link(), count: place + 1 - links.count))
  }

  private mutating func linkInFront(_ place: Int32) {
    links[Int(place)] = Link(newer: Self.none, older: first)
    if first == Self.none { last = place } else { links[Int(first)].newer = place }
    first = place
  }

  private mutating func unlink(_ place: Int32) {
    let link = links[Int(place)]
    if link.newer == Self.none { first = link.older } else { links[Int(link.newer)].older = link.older }
    if link.older == Self.none { last = link.newer } else { links[Int(link.older)].newer = link.newer }
  }
}
