/// The entries of the disk tier as the control loop has them.
///
/// After the start it is filled part by part, while the daemon serves. Until that is done, an entry that is not here
/// may still be in the index file; entries that are removed meanwhile are remembered, so that they do not come back.
final class DiskIndex {
  /// Whether all entries of the index file are here.
  private(set) var isLoaded = false

  private var table = EntryTable()
  /// Entries of the index file that must not be taken in any more.
  private(set) var removedWhileLoading: Set<UInt32> = []
  /// Entries of the index file that have been marked stale, although their rows may not say so yet.
  private var staleWhileLoading: Set<UInt32> = []
  /// Entries of the index file up to this number are gone.
  private var cleared: UInt32 = 0
  /// How many times entries have gone, or were noted as having a file that has to be looked at.
  private(set) var lossCount = 0
  /// The bases of forms whose pictures have gone, or are others now.
  private var orphaned: [UInt32] = []
  /// The users of whom an earlier process has left entries that are theirs alone.
  private(set) var formerUsers: Set<UInt32> = []
  /// Called when there are such forms; set once by the removals.
  var onOrphans: () -> Void = {}

  init() {}

  var count: Int { table.count }
  /// How many entries are facts alone.
  var recordCount: Int { table.recordCount }
  var allocated: Int { table.allocated }
  var leasedBytes: Int { table.leasedBytes }

  var heldBytes: Int {
    let numbers = removedWhileLoading.capacity + staleWhileLoading.capacity
    return table.heldBytes + numbers * MemoryLayout<UInt32>.stride
  }

  /// The place of the entry with this digest, which stays the same for as long as it is there.
  func place(of digest: KeyDigest) -> Int? { table.place(of: digest) }

  func place(of digest: KeyDigest, number: UInt32) -> Int? {
    table.place(of: digest).flatMap { table[$0].number == number ? $0 : nil }
  }

  func entry(at place: Int, number: UInt32) -> DiskEntry? { table.entry(at: place, number: number) }

  func mayHaveEntry(ofBase base: UInt32) -> Bool { !isLoaded || table.hasEntry(ofBase: base) }

  func holds(_ number: UInt32, at place: Int) -> Bool { table.holds(number, at: place) }

  subscript(place: Int) -> DiskEntry { table[place] }

  /// The places in use in the order in which they go when room is made, as far as users have more than a share of a
  /// capacity.
  func victims(sharing capacity: Int) -> EvictionOrder.Victims { table.victims(sharing: capacity) }

  /// The places of pictures with forms whose bytes go before anything else of their users, in their order.
  func sources(sharing capacity: Int) -> EvictionOrder.Victims { table.sources(sharing: capacity) }

  /// The entry that says how old another one is: for a form that of its picture, as far as it is here.
  func ageEntry(of entry: DiskEntry) -> DiskEntry {
    guard entry.isForm, let original = table.original(ofBase: entry.base) else { return entry }
    return table[original]
  }

  /// Some of the forms of a picture.
  func forms(of digest: KeyDigest, most: Int) -> [DiskEntry] {
    table.forms(of: digest.formBase, most: most).map { table[$0] }
  }

  /// Whether an entry is a picture of which there are forms.
  func hasForms(_ place: Int) -> Bool { table.hasForms(of: table[place].digest) }

  /// The places in use among the `count` from `start` on, in no particular order; nil after the last.
  func places(from start: Int, count: Int) -> [Int]? { table.places(from: start, count: count) }

  /// Whether an entry of the index file may be one that has not been taken in yet.
  func isUnread(_ number: UInt32) -> Bool { !isLoaded && number > cleared && !removedWhileLoading.contains(number) }

  /// Takes in an entry that has just been stored, in place of an earlier one of its digest; returns
  /// its place, and whether there was an earlier one.
  func insert(_ entry: DiskEntry) -> (place: Int, isReplacement: Bool) {
    let old = table.place(of: entry.digest)
    if let old {
      let former = table.remove(old)
      lossCount += 1
      // Forms of the same bytes are found under the new entry.
      if former.checksum != entry.checksum { leaveForms(of: former) }
    }
    return (table.insert(entry), old != nil)
  }

  /// Takes in an entry of the index file, as the least recently used; returns its place, or that of
  /// the newer one that is here already. Nil for an entry that has been removed.
  @discardableResult func load(_ entry: DiskEntry) -> Int? {
    if let place = table.place(of: entry.digest) { return place }
    guard entry.number > cleared, !removedWhileLoading.contains(entry.number) else { return nil }
    var entry = entry
    if staleWhileLoading.contains(entry.number) { entry.freshUntil = 0 }
    if entry.isOwn { formerUsers.insert(entry.owner) }
    return table.insert(entry, asNewest: false)
  }

  func finishLoading() {
    isLoaded = true
    removedWhileLoading = []
    staleWhileLoading = []
  }

  @discardableResult func remove(_ place: Int) -> DiskEntry {
    let entry = table.remove(place)
    lossCount += 1
    if !isLoaded { removedWhileLoading.insert(entry.number) }
    leaveForms(of: entry)
    return entry
  }

  /// Notes that the bytes of an entry go, and returns how much room that makes.
  func shed(_ place: Int) -> Int {
    lossCount += 1
    return table.shed(place)
  }

  private func leaveForms(of entry: DiskEntry) {
    guard table.hasForms(of: entry.digest) else { return }
    orphaned.append(entry.digest.formBase)
    if orphaned.count == 1 { onOrphans() }
  }

  /// Some places of forms that nothing leads to any more, at most `most`. It is called again once these have been
  /// removed, until there are none.
  func orphans(most: Int) -> [Int] {
    while let base = orphaned.last {
      let forms = table.forms(of: base, most: most)
      if forms.count < most { orphaned.removeLast() }
      if !forms.isEmpty { return forms }
    }
    return []
  }

  /// Removes the entry with a digest and a number, and if it is not here yet, keeps it from being taken in.
  func remove(_ digest: KeyDigest, number: UInt32) {
    if let place = place(of: digest, number: number) {
      remove(place)
    } else if !isLoaded {
      removedWhileLoading.insert(number)
    }
  }

  /// Removes every entry. The caller gets the table, since freeing a large one takes time.
  func takeAll() -> EntryTable {
    lossCount += 1
    orphaned = []
    defer { table = EntryTable() }
    return table
  }

  /// Starts over with another index file, whose entries up to a number are gone.
  func begin(cleared: UInt32 = 0) {
    precondition(count == 0, "the entries of an index are taken out before another one begins")
    isLoaded = false
    removedWhileLoading = []
    staleWhileLoading = []
    self.cleared = cleared
  }

  func use(_ place: Int, at wall: Int64) { table.use(place, at: UInt32(clamping: wall)) }

  func useFacts(_ place: Int, at wall: Int64) { table.useFacts(place, at: UInt32(clamping: wall)) }

  func noteUse(_ place: Int, in period: UInt16) -> Bool { table.noteUse(place, in: period) }

  /// Marks the entry with a digest and a number so that its origin has to confirm it, even if it is not here yet.
  func markStale(_ digest: KeyDigest, number: UInt32) {
    if let place = place(of: digest, number: number) {
      table[place].freshUntil = 0
    } else if !isLoaded {
      staleWhileLoading.insert(number)
    }
  }

  /// Makes an entry the last to be evicted.
  func spare(_ place: Int) { table.spare(place) }

  func setStamp(_ stamp: UInt64, at place: Int) { table[place].stamp = stamp }

  /// Notes the count under which the file of an entry was found sound; zero if it has to be looked at.
  func setVerified(in count: UInt32, at place: Int) {
    table[place].verifiedIn = count
    if count == 0 { lossCount += 1 }
  }

  func setLease(until end: UInt32, at place: Int) { table.setLease(until: end, at: place) }

  /// Takes over what has changed because the origin has confirmed the answer.
  func renew(_ place: Int, by record: StoredRecord) {
    table[place].renew(by: record)
    table.setBase(record.baseTag, at: place)
  }
}

/// The entries of the disk tier, found by the digests of their keys and ordered by their last use.
struct EntryTable {
  private(set) var count = 0
  private(set) var allocated = 0
  /// How many entries have no bytes.
  var recordCount = 0

  private(set) var leasedBytes = 0

  /// The entries by place, in parts of equal size, so that nothing has to move when the table grows.
  private var parts: [[DiskEntry?]] = []
  private(set) var order = EvictionOrder()
  /// The pictures with bytes of which a form was made after they were last used themselves.
  var chain = PlaceChain()
  /// By the ends of digests, from which the forms of a picture know it.
  private(set) var table = PlaceTable()
  /// The answers to each name that depend on the request, and of the forms of each picture the first.
  private(set) var bases = PlaceTable()
  private var baseCount = 0
  private let seed = KeyHasher.randomSeed()

  init() {}

  func place(of digest: KeyDigest) -> Int? { table.place(tag(of: digest)) { self.entry(at: $0)?.digest == digest } }

  func entry(at place: Int, number: UInt32) -> DiskEntry? {
    guard place >= 0, place < parts.count << Self.partBits, let entry = entry(at: place), entry.number == number else {
      return nil
    }
    return entry
  }

  func holds(_ number: UInt32, at place: Int) -> Bool {
    place >= 0 && place < parts.count << Self.partBits && entry(at: place)?.number == number
  }

  func hasEntry(ofBase base: UInt32) -> Bool {
    bases.place(tag(of: UInt64(base))) { self.entry(at: $0)?.base == base } != nil
  }

  /// The memory that it takes, roughly, including each entry's places in the order and in the tables.
  var heldBytes: Int {
    (parts.count << Self.partBits) * (MemoryLayout<DiskEntry?>.stride + 16) + order.heldBytes + baseCount * 16
      + chain.heldBytes
  }

  private static let partBits = 12
  private static let partMask = 1 << partBits - 1

  @inline(__always) func entry(at place: Int) -> DiskEntry? {
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

  func victims(sharing capacity: Int = 0) -> EvictionOrder.Victims {
    order.victims(sharing: capacity) { entry(at: $0)?.allocated ?? 0 }
  }

  func places(from start: Int, count: Int) -> [Int]? {
    let end = parts.count << Self.partBits
    guard start < end else { return nil }
    return (start..<min(start + count, end)).filter { entry(at: $0) != nil }
  }

  @discardableResult mutating func insert(_ entry: DiskEntry, asNewest: Bool = true) -> Int {
    let place = order.insert(of: entry.owner, costing: entry.allocated, asNewest: asNewest)
    put(entry, at: place)
    table.insert(tag(of: entry.digest), place)
    if entry.isForm { linkForm(place, asNewest: asNewest) } else { noteBase(entry.base, at: place) }
    // Of what was read from the index file it is unknown what was used last.
    if !asNewest { makeSource(place, asNewest: false) }
    count += 1
    allocated += entry.allocated
    if !entry.hasBody { recordCount += 1 }
    return place
  }

  @discardableResult mutating func remove(_ place: Int) -> DiskEntry {
    let entry = self[place]
    forgetSource(place)
    order.remove(place, costing: entry.allocated)
    table.remove(tag(of: entry.digest), place)
    if entry.isForm { unlinkForm(place) } else { forgetBase(entry.base, at: place) }
    put(nil, at: place)
    count -= 1
    if !entry.hasBody { recordCount -= 1 }
    if entry.leaseEnd > 0 { leasedBytes -= Int(entry.bytes) }
    allocated -= entry.allocated
    return entry
  }

  mutating func touch(_ place: Int) { order.touch(place) }

  mutating func charge(_ place: Int, _ cost: Int) {
    allocated += cost
    order.charge(place, cost)
  }

  /// Makes an entry the last to go, with its bytes.
  mutating func spare(_ place: Int) {
    touch(place)
    forgetSource(place)
  }

  mutating func use(_ place: Int, at wall: UInt32) {
    spare(place)
    parts[place >> Self.partBits][place & Self.partMask]?.lastAccess = wall
  }

  /// Notes the use of a form as one of its picture's facts, and not of the picture's bytes.
  mutating func useFacts(_ place: Int, at wall: UInt32) {
    if !self[place].hasBody { touch(place) }
    parts[place >> Self.partBits][place & Self.partMask]?.lastAccess = wall
  }

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

  mutating func noteBase(_ base: UInt32, at place: Int) {
    guard base > 0 else { return }
    bases.insert(tag(of: UInt64(base)), place)
    baseCount += 1
  }

  mutating func forgetBase(_ base: UInt32, at place: Int) {
    guard base > 0 else { return }
    bases.remove(tag(of: UInt64(base)), place)
    baseCount -= 1
  }

  private func tag(of digest: KeyDigest) -> UInt32 { tag(of: UInt64(digest.tag)) }

  func tag(of number: UInt64) -> UInt32 {
    var hasher = KeyHasher(seed)
    hasher.combine(number)
    return PlaceTable.tag(hasher.finish())
  }
}
