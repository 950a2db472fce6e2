// The order in which the entries of a tier go, which both tiers share.
//
// All entries are in one chain in the order of their last use. Where those that nobody has asked for
// again go first, they are in a second chain besides: to be asked for again is to leave it. Whatever
// happens to an entry changes the links of its neighbours and nothing else, so that a use, a removal
// and the choice of the next victim cost the same among a thousand entries as among a million, and no
// walk has to pass over entries that stay.

/// Places in the order of their last use, and which of them goes next.
///
/// An entry's place stays the same. One that became free is given again.
package struct EvictionOrder {
  private var chain = PlaceChain()
  private var free: [Int32] = []
  /// Nil when the order of use alone decides.
  private var newcomers: Newcomers?

  package init(_ rule: EvictionRule = .leastRecent) {
    follow(rule)
  }

  /// Takes another rule from now on. What is here when newcomers begin to be told apart counts as asked
  /// for again.
  package mutating func follow(_ rule: EvictionRule) {
    switch rule {
    case .leastRecent: newcomers = nil
    case .scanResistant: newcomers = newcomers ?? Newcomers()
    }
  }

  /// The place that the next insertion gives.
  var nextPlace: Int { free.last.map(Int.init) ?? chain.capacity }

  /// The memory that the order takes.
  var heldBytes: Int {
    chain.heldBytes + (newcomers?.heldBytes ?? 0) + free.capacity * MemoryLayout<Int32>.stride
  }

  /// The places in use, the most recently used first.
  var newestFirst: some Sequence<Int> { chain.newestFirst }

  /// Whether the entry at a place counts as asked for again.
  func isUsedAgain(_ place: Int) -> Bool { newcomers?.contains(place) != true }

  // MARK: Entries come, are used, and go

  /// Gives out a place as the most recently used, or as the least.
  package mutating func insert(
    size: Int, asNewest: Bool = true, isUsedAgain: Bool = false
  ) -> Int {
    let place = free.popLast().map(Int.init) ?? chain.capacity
    if asNewest { chain.putInFront(place) } else { chain.putAtEnd(place) }
    if !isUsedAgain { newcomers?.insert(place, size: size, asNewest: asNewest) }
    return place
  }

  /// Makes a place the most recently used, by somebody who has asked for it again.
  @inline(__always)
  package mutating func touch(_ place: Int, size: Int) {
    newcomers?.leave(place, size: size)
    chain.moveToFront(place)
  }

  /// Makes a place the last to go, although nobody has asked for it.
  mutating func spare(_ place: Int) {
    newcomers?.spare(place)
    chain.moveToFront(place)
  }

  /// Notes the new size of a place.
  mutating func resize(_ place: Int, from before: Int, to size: Int) {
    newcomers?.resize(place, from: before, to: size)
  }

  /// Takes a place out, which is given again.
  package mutating func remove(_ place: Int, size: Int) {
    newcomers?.leave(place, size: size)
    chain.remove(place)
    free.append(Int32(place))
  }

  // MARK: Victims

  /// The place that goes next, of all places that have so many bytes.
  package func victim(usage: Int) -> Int? {
    if let newcomers, newcomers.goFirst(in: usage) { return newcomers.oldest }
    return chain.oldest
  }

  /// All places in the order in which they would go, as long as nothing else changes.
  func victims(usage: Int, size: @escaping (Int) -> Int) -> Victims {
    Victims(chain: chain, newcomers: newcomers, usage: usage, size: size)
  }

  /// The places of a tier in the order in which they go.
  struct Victims: Sequence, IteratorProtocol {
    private let newcomers: Newcomers?
    private let chain: PlaceChain
    private let size: (Int) -> Int
    private var usage: Int
    private var newcomerBytes: Int
    /// The oldest newcomer that has not gone, and how many of them have.
    private var newcomer: Int?
    private var gone = 0
    /// The place of the other chain that is looked at next; newcomers that have gone come by here again.
    private var oldest: Int?

    fileprivate init(
      chain: PlaceChain, newcomers: Newcomers?, usage: Int, size: @escaping (Int) -> Int
    ) {
      self.chain = chain
      self.newcomers = newcomers
      self.size = size
      self.usage = usage
      newcomerBytes = newcomers?.bytes ?? 0
      newcomer = newcomers?.oldest
      oldest = chain.oldest
    }

    mutating func next() -> Int? {
      if let newcomers, let place = newcomer,
        newcomers.goFirst(from: place, bytes: newcomerBytes, in: usage)
      {
        gone += 1
        return take(place)
      }
      while let place = oldest {
        oldest = chain.newer(than: place)
        let isNewcomer = newcomers?.contains(place) == true
        // Newcomers are in the same order in both chains, so that the first ones are those that have gone.
        guard isNewcomer, gone > 0 else { return take(place) }
        gone -= 1
      }
      return nil
    }

    private mutating func take(_ place: Int) -> Int {
      let size = size(place)
      usage -= size
      if let newcomers, newcomers.contains(place) {
        newcomerBytes -= size
        newcomer = newcomers.next(after: place)
      }
      return place
    }
  }
}
