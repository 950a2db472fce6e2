/// The entries of a tier that nobody has asked for again, in the order in which they came.
struct Newcomers {
  private var chain = PlaceChain()
  /// The bytes of all of them.
  private(set) var bytes = 0

  init() {}

  /// The memory that they take.
  var heldBytes: Int { chain.heldBytes }

  /// The one that goes first.
  var oldest: Int? { chain.oldest }

  /// Whether they go before all others: their newest tenth is spared, which may still be asked for
  /// again, and so is the last one of them, which may be larger than that.
  func goFirst(in usage: Int) -> Bool {
    goFirst(from: chain.oldest, bytes: bytes, in: usage)
  }

  /// The same when the ones before `oldest` have gone, and `bytes` are left.
  func goFirst(from oldest: Int?, bytes: Int, in usage: Int) -> Bool {
    oldest != nil && oldest != chain.newest && bytes > usage / 10
  }

  func contains(_ place: Int) -> Bool { chain.contains(place) }

  func next(after place: Int) -> Int? { chain.newer(than: place) }

  mutating func insert(_ place: Int, size: Int, asNewest: Bool) {
    if asNewest { chain.putInFront(place) } else { chain.putAtEnd(place) }
    bytes += size
  }

  /// Takes a place out, if it is here.
  @inline(__always)
  mutating func leave(_ place: Int, size: Int) {
    guard chain.contains(place) else { return }
    chain.remove(place)
    bytes -= size
  }

  /// Makes a place the newest, if it is here.
  mutating func spare(_ place: Int) {
    if chain.contains(place) { chain.moveToFront(place) }
  }

  /// Notes the new size of a place, if it is here.
  mutating func resize(_ place: Int, from before: Int, to size: Int) {
    if chain.contains(place) { bytes += size - before }
  }
}
