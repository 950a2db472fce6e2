/// The entries of the disk tier, found by the digests of their keys and ordered by their last use.
struct EntryTable {
  private(set) var count = 0
  /// The bytes that all files take on disk.
  private(set) var allocated = 0

  /// The bytes of files that are leased.
  private(set) var leasedBytes = 0

  /// The entries by place, in parts of equal size, so that nothing has to move when the table grows.
  private var parts: [[DiskEntry?]] = []
  private var order = EvictionOrder()
  private var table = PlaceTable()
  /// The places of entries with a base, by their base.
  private var bases = PlaceTable()
  private var baseCount = 0
  private let seed = KeyHasher.randomSeed()

  init() {}

  /// The place of the entry with this digest, which stays the same for as long as it is there.
  func place(of digest: KeyDigest) -> Int? { table.place(tag(of: digest)) { self.entry(at: $0)?.digest == digest } }

  /// The entry at a place, if it is the one with that number.
  func entry(at place: Int, number: UInt32) -> DiskEntry? {
    guard place >= 0, place < parts.count << Self.partBits, let entry = entry(at: place), entry.number == number else {
      return nil
    }
    return entry
  }

  /// Whether the entry with that number is at a place.
  func holds(_ number: UInt32, at place: Int) -> Bool {
    place >= 0 && place < parts.count << Self.partBits && entry(at: place)?.number == number
  }

  /// Whether there is an entry with this base.
  func hasEntry(ofBase base: UInt32) -> Bool {
    bases.place(tag(ofBase: base)) { self.entry(at: $0)?.base == base } != nil
  }

  /// The memory that it takes, roughly, including each entry's places in the order and in the tables.
  var heldBytes: Int {
    (parts.count << Self.partBits) * (MemoryLayout<DiskEntry?>.stride + 16) + order.heldBytes + baseCount * 16
  }

  private static let partBits = 12
  private static let partMask = 1 << partBits - 1

  @inline(__always) private func entry(at place: Int) -> DiskEntry? {
    parts[place >> Self.partBits][place & Self.partMask]
  }

  private mutating func put(_ entry: DiskEntry?, at place: Int) {
    if place == parts.count << Self.partBits { parts.append([DiskEntry?](repeating: nil, count: 1 << Self.partBits)) }
    parts[place >> Self.partBits][place & Self.partMask] = entry
  }

  subscript(place: Int) -> DiskEntry {
    get {
      guard let entry = entry(at: place) else { preconditionFailure("an entry is looked for at a place in use") }
      return entry
    }
    set { put(newValue, at: place) }
  }

  /// The places in use in the order in which they go.
  var victims: some Sequence<Int> { order.oldestFirst }

  /// The places in use among the `count` from `start` on, in no particular order; nil after the last.
  func places(from start: Int, count: Int) -> [Int]? {
    let end = parts.count << Self.partBits
    guard start < end else { return nil }
    return (start..<min(start + count, end)).filter { entry(at: $0) != nil }
  }

  /// Takes an entry in, as the most recently used or as the least.
  @discardableResult mutating func insert(_ entry: DiskEntry, asNewest: Bool = true) -> Int {
    let place = order.insert(asNewest: asNewest)
    put(entry, at: place)
    table.insert(tag(of: entry.digest), place)
    noteBase(entry.base, at: place)
    count += 1
    allocated += entry.allocated
    return place
  }

  @discardableResult mutating func remove(_ place: Int) -> DiskEntry {
    let entry = self[place]
    order.remove(place)
    table.remove(tag(of: entry.digest), place)
    forgetBase(entry.base, at: place)
    put(nil, at: place)
    count -= 1
    if entry.leaseEnd > 0 { leasedBytes -= Int(entry.bytes) }
    allocated -= entry.allocated
    return entry
  }

  /// Makes the entry at a place the last one to go.
  mutating func touch(_ place: Int) { order.touch(place) }

  /// Notes a use of an entry with its time, and makes it the last one to go.
  mutating func use(_ place: Int, at wall: UInt32) {
    touch(place)
    parts[place >> Self.partBits][place & Self.partMask]?.lastAccess = wall
  }

  /// Notes that a use has to be written to the index file; false if one was noted in this period already.
  mutating func noteUse(_ place: Int, in period: UInt16) -> Bool {
    parts[place >> Self.partBits][place & Self.partMask]?.noteUse(in: period) ?? false
  }

  /// Notes the end of a lease; zero for none.
  mutating func setLease(until end: UInt32, at place: Int) {
    let (before, bytes) = (self[place].leaseEnd, Int(self[place].bytes))
    if before == 0, end > 0 { leasedBytes += bytes }
    if before > 0, end == 0 { leasedBytes -= bytes }
    self[place].leaseEnd = end
  }

  /// Notes the base that an entry has since its answer was confirmed.
  mutating func setBase(_ base: UInt32, at place: Int) {
    let before = self[place].base
    guard base != before else { return }
    forgetBase(before, at: place)
    noteBase(base, at: place)
    self[place].base = base
  }

  private mutating func noteBase(_ base: UInt32, at place: Int) {
    guard base > 0 else { return }
    bases.insert(tag(ofBase: base), place)
    baseCount += 1
  }

  private mutating func forgetBase(_ base: UInt32, at place: Int) {
    guard base > 0 else { return }
    bases.remove(tag(ofBase: base), place)
    baseCount -= 1
  }

  private func tag(of digest: KeyDigest) -> UInt32 { tag(of: digest.low) }

  private func tag(ofBase base: UInt32) -> UInt32 { tag(of: UInt64(base)) }

  private func tag(of number: UInt64) -> UInt32 {
    var hasher = KeyHasher(seed)
    hasher.combine(number)
    return PlaceTable.tag(hasher.finish())
  }
}
