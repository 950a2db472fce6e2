/// The entries of the disk tier by the digest of their key and in the order of their last use.
struct EntryTable {
  private(set) var count = 0
  /// The bytes that all files take on disk.
  private(set) var allocated = 0

  private var entries: [DiskEntry?] = []
  private var order = RecencyOrder()
  private var table = PlaceTable()
  private let seed = KeyHasher.randomSeed()

  init() {}

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
  var leastRecentFirst: some Sequence<Int> { order.oldestFirst }

  /// The places in use among the `count` from `start`, in no order; nil behind the last.
  func places(from start: Int, count: Int) -> [Int]? {
    guard start < entries.count else { return nil }
    return (start..<min(start + count, entries.count)).filter { entries[$0] != nil }
  }

  /// Takes an entry in, as the most recently used or as the least.
  @discardableResult
  mutating func insert(_ entry: DiskEntry, asNewest: Bool = true) -> Int {
    let place = order.insert(asNewest: asNewest)
    if place == entries.count { entries.append(entry) } else { entries[place] = entry }
    table.insert(tag(of: entry.digest), place)
    count += 1
    allocated += entry.allocated
    return place
  }

  @discardableResult
  mutating func remove(_ place: Int) -> DiskEntry {
    let entry = self[place]
    order.remove(place)
    table.remove(tag(of: entry.digest), place)
    entries[place] = nil
    count -= 1
    allocated -= entry.allocated
    return entry
  }

  /// Makes the entry at a place the most recently used.
  mutating func touch(_ place: Int) {
    order.touch(place)
  }

  private func tag(of digest: KeyDigest) -> UInt32 {
    var hasher = KeyHasher(seed)
    hasher.take(digest.low)
    return PlaceTable.tag(hasher.finish())
  }
}
