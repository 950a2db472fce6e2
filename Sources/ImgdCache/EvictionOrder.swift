// The order in which the entries of a tier go, which both tiers share: of the user who has most, the least recently used
// goes first.
//
// Whatever happens to an entry changes the links of its neighbours and nothing else, so that a use, a removal
// and the choice of the next victim cost the same among a thousand entries as among a million.

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
