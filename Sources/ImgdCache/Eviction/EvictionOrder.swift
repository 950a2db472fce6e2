// The order in which the entries of a tier go, which both tiers share: the least recently used goes first.
//
// Whatever happens to an entry changes the links of its neighbours and nothing else, so that a use, a removal
// and the choice of the next victim cost the same among a thousand entries as among a million.

/// Places in the order of their last use.
///
/// An entry keeps its place as long as it lives. A freed place is handed out again.
struct EvictionOrder {
  private var chain = PlaceChain()
  private var free: [Int32] = []

  init() {}

  /// The place that the next insertion will hand out.
  var nextPlace: Int { free.last.map(Int.init) ?? chain.capacity }

  /// The memory that the order takes.
  var heldBytes: Int { chain.heldBytes + free.capacity * MemoryLayout<Int32>.stride }

  /// The place that goes next.
  var oldest: Int? { chain.oldest }

  /// The places in use, the most recently used first.
  var newestFirst: some Sequence<Int> { chain.newestFirst }

  /// The places in use in the order in which they go.
  var oldestFirst: some Sequence<Int> { chain.oldestFirst }

  /// Hands out a place as the most recently used, or as the least.
  mutating func insert(asNewest: Bool = true) -> Int {
    let place = free.popLast().map(Int.init) ?? chain.capacity
    if asNewest { chain.putInFront(place) } else { chain.putAtEnd(place) }
    return place
  }

  /// Makes a place the most recently used.
  @inline(__always) mutating func touch(_ place: Int) { chain.moveToFront(place) }

  /// Frees a place, which will be handed out again.
  mutating func remove(_ place: Int) {
    chain.remove(place)
    free.append(Int32(place))
  }
}
