/// The entries of the disk tier by the digest of their key and in the order of their last use.
struct DiskIndex {
  private(set) var count = 0
  /// The bytes that all files take on disk.
  private(set) var allocated = 0

  private var entries: [DiskEntry?] = []
  private var free: [Int32] = []
  private var table = PlaceTable()
  private var newest = RecencyLink.none
  private var oldest = RecencyLink.none
  private let seed = KeyHasher.randomSeed()

  init() {}

  // MARK: Looking

  /// The place of the entry with this digest, which stays the same for as long as it is there.
  func place(of digest: KeyDigest) -> Int? {
    table.place(tag(of: digest)) { entries[$0]?.digest == digest }
  }

  /// The entry at a place, if it is the one with that number.
  func entry(at place: Int, number: UInt32) -> DiskEntry? {
    guard entries.indices.contains(place), let entry = entries[place], entry.number == number
    else { return nil }
    return entry
  }

  subscript(place: Int) -> DiskEntry {
    get {
      guard let entry = entries[place] else {
        preconditionFailure("an entry is looked for at a place in use")
      }
      return entry
    }
    set { entries[place] = newValue }
  }

  /// The places in use, the least recently used first.
  var leastRecentFirst: some Sequence<Int> {
    sequence(first: oldest) { entries[Int($0)]?.newer ?? RecencyLink.none }
      .lazy.prefix { $0 != RecencyLink.none }.map { Int($0) }
  }

  /// The places in use among the `count` from `start`, in no order; nil behind the last.
  func places(from start: Int, count: Int) -> [Int]? {
    guard start < entries.count else { return nil }
    return (start..<min(start + count, entries.count)).filter { entries[$0] != nil }
  }

  // MARK: Changing

  /// Takes an entry in, as the most recently used or as the least.
  @discardableResult
  mutating func insert(_ entry: DiskEntry, asNewest: Bool = true) -> Int {
    let place = free.popLast().map(Int.init) ?? entries.count
    if place == entries.count { entries.append(entry) } else { entries[place] = entry }
    table.insert(tag(of: entry.digest), place)
    count += 1
    allocated += entry.allocated
    if asNewest { linkAsNewest(Int32(place)) } else { linkAsOldest(Int32(place)) }
    return place
  }

  @discardableResult
  mutating func remove(_ place: Int) -> DiskEntry {
    let entry = self[place]
    unlink(Int32(place))
    table.remove(tag(of: entry.digest), place)
    entries[place] = nil
    free.append(Int32(place))
    count -= 1
    allocated -= entry.allocated
    return entry
  }

  /// Makes the entry at a place the most recently used.
  mutating func touch(_ place: Int) {
    guard Int32(place) != newest else { return }
    unlink(Int32(place))
    linkAsNewest(Int32(place))
  }

  private func tag(of digest: KeyDigest) -> UInt32 {
    var hasher = KeyHasher(seed)
    hasher.take(digest.low)
    return PlaceTable.tag(hasher.finish())
  }

  // MARK: Order

  private mutating func linkAsNewest(_ place: Int32) {
    self[Int(place)].older = newest
    self[Int(place)].newer = RecencyLink.none
    if newest == RecencyLink.none { oldest = place } else { self[Int(newest)].newer = place }
    newest = place
  }

  private mutating func linkAsOldest(_ place: Int32) {
    self[Int(place)].newer = oldest
    self[Int(place)].older = RecencyLink.none
    if oldest == RecencyLink.none { newest = place } else { self[Int(oldest)].older = place }
    oldest = place
  }

  private mutating func unlink(_ place: Int32) {
    let (newer, older) = (self[Int(place)].newer, self[Int(place)].older)
    if newer == RecencyLink.none { newest = older } else { self[Int(newer)].older = older }
    if older == RecencyLink.none { oldest = newer } else { self[Int(older)].newer = newer }
  }
}
