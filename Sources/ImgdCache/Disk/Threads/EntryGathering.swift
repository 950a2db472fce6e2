/// The entries of an index that is being read, brought into the order of their last use.
struct EntryGathering {
  private(set) var lastNumber: UInt32 = 0
  private var entries: [DiskEntry] = []
  /// The order in which entries are taken: in each number, the time of the last use and the place in `entries`.
  private var order: [UInt64] = []

  var isEmpty: Bool { order.isEmpty }

  /// Takes in a part of the entries. After the last part it sorts all of them, and returns true.
  mutating func add(_ part: [DiskEntry], isLast: Bool) -> Bool {
    entries += part
    if let last = part.last { lastNumber = last.number }
    guard isLast else { return false }
    // Sorting numbers is faster than sorting entries, and a client's picture may have to wait for it.
    order = entries.indices.map { UInt64(entries[$0].lastAccess) << 32 | UInt64($0) }
    order.sort()
    return true
  }

  /// Some of the entries, the most recently used first.
  mutating func takeEntries(most limit: Int) -> [DiskEntry] {
    let part = order.suffix(limit).reversed().map { entries[Int(truncatingIfNeeded: $0 & 0xFFFF_FFFF)] }
    order.removeLast(part.count)
    return part
  }
}
