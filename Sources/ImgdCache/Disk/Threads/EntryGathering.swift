/// The entries of an index that is being read, brought into the order of their last use.
struct EntryGathering {
  private(set) var lastNumber: UInt32 = 0
  private var entries: [DiskEntry] = []
  /// The order in which entries are taken: the time of the last use, and the place.
  private var order: [UInt64] = []

  var isEmpty: Bool { order.isEmpty }

  /// Takes in a part; after the last one it sorts all of them, and returns true.
  mutating func add(_ part: [DiskEntry], isLast: Bool) -> Bool {
    entries += part
    if let last = part.last { lastNumber = last.number }
    guard isLast else { return false }
    // Numbers are sorted, not entries: a client that waits for a picture waits for this too.
    order = entries.indices.map { UInt64(entries[$0].lastAccess) << 32 | UInt64($0) }
    order.sort()
    return true
  }

  /// Some of the entries, the most recently used first.
  mutating func takeEntries(most limit: Int) -> [DiskEntry] {
    let part = order.suffix(limit).reversed().map {
      entries[Int(truncatingIfNeeded: $0 & 0xFFFF_FFFF)]
    }
    order.removeLast(part.count)
    return part
  }
}
