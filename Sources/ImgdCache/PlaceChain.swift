internal import CLinux

/// Places from the newest to the oldest, for each account by itself.
///
/// The links are numbers in one array: moving a place to the front touches four of its cells and no
/// reference count. A place is in the chain once, or not at all. What changes the chain works on one account's places,
/// whose ends are at hand; a chain of a single account never turns to another.
struct PlaceChain {
  private struct Link {
    var newer = outside
    var older = outside
  }

  private struct Ends {
    var first = none
    var last = none
    var count = 0
  }

  private static let none: Int32 = -1
  private static let outside: Int32 = -2

  private var links: [Link] = []
  private var first = none
  private var last = none
  private var count = 0
  private var account = 0
  /// The ends of the accounts; those of the one at hand are out of date.
  private var ends: [Ends] = []

  /// How many places there are, in the chain and outside it.
  var capacity: Int { links.count }

  var heldBytes: Int { links.capacity * MemoryLayout<Link>.stride + ends.capacity * MemoryLayout<Ends>.stride }

  /// Goes on with another account.
  mutating func turn(to account: Int) {
    guard account != self.account else { return }
    let missing = max(account, self.account) + 1 - ends.count
    if missing > 0 { ends.append(contentsOf: repeatElement(Ends(), count: missing)) }
    ends[self.account] = Ends(first: first, last: last, count: count)
    (first, last, count) = (ends[account].first, ends[account].last, ends[account].count)
    self.account = account
  }

  private func ends(of account: Int) -> Ends {
    if account == self.account { return Ends(first: first, last: last, count: count) }
    return account < ends.count ? ends[account] : Ends()
  }

  private var accounts: Range<Int> { 0..<max(ends.count, account + 1) }

  func oldest(in account: Int) -> Int? { Self.place(ends(of: account).last) }

  /// The oldest place of the account that has the most of them.
  var oldestOfMost: Int? {
    accounts.max { ends(of: $0).count < ends(of: $1).count }.flatMap { oldest(in: $0) }
  }

  func newer(than place: Int) -> Int? { Self.place(links[place].newer) }

  /// One place of each account in turn.
  var newestFirst: some Sequence<Int> {
    sequence(state: accounts.compactMap { Self.place(ends(of: $0).first) }[...]) { next in
      guard let place = next.popFirst() else { return nil }
      if let older = Self.place(links[place].older) { next.append(older) }
      return place
    }
  }

  private static func place(_ link: Int32) -> Int? { link == none ? nil : Int(link) }

  func contains(_ place: Int) -> Bool { place < links.count && links[place].newer != Self.outside }

  /// Puts a place that is not in the chain in front.
  mutating func putInFront(_ place: Int) {
    makeRoom(for: place)
    let place = Int32(place)
    links[Int(place)] = Link(newer: Self.none, older: first)
    if first == Self.none { last = place } else { links[Int(first)].newer = place }
    first = place
    count += 1
  }

  /// Puts a place that is not in the chain at the end.
  mutating func putAtEnd(_ place: Int) {
    makeRoom(for: place)
    let place = Int32(place)
    links[Int(place)] = Link(newer: last, older: Self.none)
    if last == Self.none { first = place } else { links[Int(last)].older = place }
    last = place
    count += 1
  }

  @inline(__always) mutating func moveToFront(_ place: Int) {
    let place = Int32(truncatingIfNeeded: place)
    guard place != first else { return }
    let end = Self.move(place, inFrontOf: first, in: links.mutableSpan)
    if let end { last = end }
    first = place
  }

  func prefetch(_ places: Span<Int32>, neighbours: Bool) {
    // Nothing is read at the addresses, which may be any.
    unsafe links.withUnsafeBufferPointer { links in
      guard let start = links.baseAddress else { return }
      for index in places.indices {
        let place = Int(places[index])
        guard neighbours else {
          unsafe linux_prefetch(start + place)
          continue
        }
        let link = unsafe links[place]
        unsafe linux_prefetch(start + Int(link.newer))
        unsafe linux_prefetch(start + Int(link.older))
      }
    }
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

  mutating func remove(_ place: Int) {
    let link = links[place]
    if link.newer == Self.none { first = link.older } else { links[Int(link.newer)].older = link.older }
    if link.older == Self.none { last = link.newer } else { links[Int(link.older)].newer = link.newer }
    links[place] = Link()
    count -= 1
  }

  private mutating func makeRoom(for place: Int) {
    guard place >= links.count else { return }
    links.append(contentsOf: repeatElement(Link(), count: place + 1 - links.count))
  }
}
