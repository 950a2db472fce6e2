// The order in which the entries of a tier go, which both tiers share: of the user who has most, the least recently used
// goes first.
//
// Whatever happens to an entry changes the links of its neighbours and nothing else, so that a use, a removal
// and the choice of the next victim cost the same among a thousand entries as among a million.

internal import CLinux

/// Places in the order of their last use: an entry keeps its place as long as it lives, and a freed one is handed out
/// again.
struct EvictionOrder {
  private(set) var chain = PlaceChain()
  private(set) var accounts = Accounts()
  private var free: [Int32] = []

  var nextPlace: Int { free.last.map(Int.init) ?? chain.capacity }

  var heldBytes: Int {
    chain.heldBytes + accounts.heldBytes + free.capacity * MemoryLayout<Int32>.stride
  }

  /// What goes next if something has to.
  var oldest: Int? { accounts.fullest(sharing: 0).flatMap { chain.oldest(in: $0) } }

  /// The most recently used of each user in turn, and so on.
  var newestFirst: some Sequence<Int> { chain.newestFirst }

  mutating func insert(of owner: UInt32 = EntryOwner.nobody, costing cost: Int = 0, asNewest: Bool = true) -> Int {
    let place = nextPlace
    _ = free.popLast()
    accounts.add(place, of: owner, costing: cost)
    aim(&chain, at: place)
    if asNewest { chain.putInFront(place) } else { chain.putAtEnd(place) }
    return place
  }

  @inline(__always) mutating func touch(_ place: Int) {
    aim(&chain, at: place)
    chain.moveToFront(place)
  }

  /// Makes a place another user's, as the most recently used one.
  mutating func assign(_ place: Int, to owner: UInt32, costing cost: Int) {
    aim(&chain, at: place)
    chain.remove(place)
    accounts.remove(place, costing: cost)
    accounts.add(place, of: owner, costing: cost)
    aim(&chain, at: place)
    chain.putInFront(place)
  }

  /// Counts a change of an entry's cost.
  mutating func charge(_ place: Int, _ cost: Int) { accounts.change(place, by: cost) }

  /// Has a chain of some of the places work on those of the user to whom a place belongs.
  @inline(__always) func aim(_ chain: inout PlaceChain, at place: Int) {
    if accounts.areSeveral { chain.turn(to: accounts.number(at: place)) }
  }

  /// Has the processor fetch what moving places will need: their links, and in a second step those of their neighbours.
  func prefetch(_ places: Span<Int32>, neighbours: Bool) { chain.prefetch(places, neighbours: neighbours) }

  mutating func remove(_ place: Int, costing cost: Int = 0) {
    aim(&chain, at: place)
    chain.remove(place)
    accounts.remove(place, costing: cost)
    free.append(Int32(place))
  }

  /// The places of a chain, or all, in the order in which they go until nobody has more than a share of a capacity.
  func victims(of chain: PlaceChain? = nil, sharing capacity: Int = 0, cost: @escaping (Int) -> Int) -> Victims {
    Victims(chain ?? self.chain, accounts, sharing: capacity, cost)
  }

  struct Victims: Sequence, IteratorProtocol {
    private let chain: PlaceChain
    private var upcoming: [Int?]
    private var costs: [Int]
    /// Below this, nobody loses anything; nil for a single user.
    private let share: Int?
    private let cost: (Int) -> Int

    fileprivate init(_ chain: PlaceChain, _ accounts: Accounts, sharing capacity: Int, _ cost: @escaping (Int) -> Int) {
      self.chain = chain
      costs = accounts.all.map(\.cost)
      upcoming = costs.indices.map { chain.oldest(in: $0) }
      share = accounts.users > 1 ? accounts.share(of: capacity) : nil
      self.cost = cost
    }

    mutating func next() -> Int? {
      let open = costs.indices.lazy.filter { [upcoming] in upcoming[$0] != nil }
      guard let fullest = open.max(by: { costs[$0] < costs[$1] }), let place = upcoming[fullest] else { return nil }
      if let share, costs[fullest] <= share { return nil }
      if share != nil { costs[fullest] -= cost(place) }
      upcoming[fullest] = chain.newer(than: place)
      return place
    }
  }
}

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

/// Finds places by hash: open addressing with linear probing, eight bytes a cell.
///
/// A cell holds a place and 32 bits of its hash, which say both where the cell belongs and whether the place is worth
/// a look. Removing moves the following cells up instead of leaving a mark, so a table is rebuilt only in order to
/// grow. When a table grows, all its cells move, which with a million places would hold up everybody for some seventy
/// milliseconds. So there are 256 small tables, each of which grows by itself.
struct PlaceTable {
  private static let parts = 256

  private var tables = [Part](repeating: Part(), count: parts)

  /// The part of a hash that the tables use.
  static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }

  /// The first place under a tag for which `matches` returns true.
  @inline(__always) func place(_ tag: UInt32, where matches: (Int) -> Bool) -> Int? {
    // Places are asked for one by one, so that no table is held while `matches` runs: that saves reference counting.
    let part = Self.part(of: tag)
    var index = tables.span[part].home(tag)
    while let (place, next) = tables.span[part].place(tag, from: index) {
      if matches(place) { return place }
      index = next
    }
    return nil
  }

  /// Where the look for a tag begins, to be fetched by the processor and not to be read.
  @unsafe @inline(__always) func address(_ tag: UInt32) -> UnsafeRawPointer? {
    unsafe tables.span[Self.part(of: tag)].address(tag)
  }

  /// The place in the first cell under a tag, which is the one that is looked for unless two keys have the same tag.
  @inline(__always) func likelyPlace(_ tag: UInt32) -> Int? {
    let part = Self.part(of: tag)
    return tables.span[part].place(tag, from: tables.span[part].home(tag))?.place
  }

  mutating func insert(_ tag: UInt32, _ place: Int) { tables[Self.part(of: tag)].insert(tag, place) }

  mutating func remove(_ tag: UInt32, _ place: Int) { tables[Self.part(of: tag)].remove(tag, place) }

  /// The first byte of a tag says in which table it is, and the rest where in that table.
  @inline(__always) private static func part(of tag: UInt32) -> Int { Int(tag >> 24) }
}

/// One of the tables: the tags in it share their first byte.
private struct Part {
  private struct Cell {
    var tag: UInt32
    /// The place plus one; zero for an empty cell.
    var content: UInt32
  }

  private static let smallest = 4

  private var cells = [Cell](repeating: Cell(tag: 0, content: 0), count: smallest)
  private var shift = UInt32(32 - smallest.trailingZeroBitCount)
  private var used = 0

  /// The next place under a tag, from a cell on, and the cell to go on from.
  @inline(__always) func place(_ tag: UInt32, from start: Int) -> (place: Int, next: Int)? {
    let cells = cells.span
    var index = start
    while case let cell = cells[index], cell.content != 0 {
      if cell.tag == tag { return (Int(cell.content) - 1, next(index)) }
      index = next(index)
    }
    return nil
  }

  @unsafe @inline(__always) func address(_ tag: UInt32) -> UnsafeRawPointer? {
    unsafe cells.span.withUnsafeBufferPointer { unsafe UnsafeRawPointer($0.baseAddress.map { unsafe $0 + home(tag) }) }
  }

  mutating func insert(_ tag: UInt32, _ place: Int) {
    if used * 4 >= cells.count * 3 { grow() }
    put(Cell(tag: tag, content: UInt32(place + 1)))
    used += 1
  }

  mutating func remove(_ tag: UInt32, _ place: Int) {
    let content = UInt32(place + 1)
    var hole = home(tag)
    while cells[hole].content != content {
      precondition(cells[hole].content != 0, "a place that is removed is in the table")
      hole = next(hole)
    }
    closeUp(&hole)
    cells[hole].content = 0
    used -= 1
  }

  /// Moves following cells that may stand there into the hole, until it meets an empty cell.
  private mutating func closeUp(_ hole: inout Int) {
    var index = next(hole)
    while cells[index].content != 0 {
      let wanted = home(cells[index].tag)
      if distance(wanted, index) >= distance(hole, index) {
        cells[hole] = cells[index]
        hole = index
      }
      index = next(index)
    }
  }

  private mutating func grow() {
    let old = cells
    cells = [Cell](repeating: Cell(tag: 0, content: 0), count: old.count * 2)
    shift -= 1
    for cell in old where cell.content != 0 { put(cell) }
  }

  private mutating func put(_ cell: Cell) {
    var index = home(cell.tag)
    while cells[index].content != 0 { index = next(index) }
    cells[index] = cell
  }

  /// The cell at which the search for a tag begins.
  @inline(__always) func home(_ tag: UInt32) -> Int { Int((tag << 8) >> shift) }

  @inline(__always) private func next(_ index: Int) -> Int { (index + 1) & (cells.count - 1) }

  private func distance(_ from: Int, _ to: Int) -> Int { (to - from) & (cells.count - 1) }
}
