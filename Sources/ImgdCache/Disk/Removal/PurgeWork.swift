/// A purge on its way: it is written down, its entries are looked for, and then they are removed.
///
/// From its beginning until the search is over questions wait, so that none of its entries is found.
/// The search is the queue's; a step of this work removes, or marks, some of the entries.
final class PurgeWork: RemovalWork {
  /// With its row and its ceiling, when it has been written down.
  private(set) var order: RemovalOrder
  private(set) var isRecorded = false
  private(set) var isSearching = false
  /// It could not be written, or its entries not be found: it is tried again when the disk works.
  private(set) var isOwed = false
  /// It is about everything, and all entries have left memory.
  private(set) var isClearing = false

  // A job under way holds its work, and the threads their jobs.
  private unowned let threads: DiskThreads
  private let leases: FileLeases
  private let rules: DiskRules
  private let unlinks: UnlinkWork
  private let gate: DiskGate
  private var holdsGate = false
  /// Files of an earlier process's leases stay.
  private let leaseFloor: Int64
  private var then: ((Removal) -> Void)?
  private var removal: Removal
  /// The entries that have still to go from the disk.
  private var numbers: [UInt32] = []

  init(
    _ order: RemovalOrder, _ threads: DiskThreads, _ leases: FileLeases, _ rules: DiskRules,
    _ unlinks: UnlinkWork, _ gate: DiskGate, then: ((Removal) -> Void)? = nil
  ) {
    self.order = order
    self.threads = threads
    self.leases = leases
    self.rules = rules
    self.unlinks = unlinks
    self.gate = gate
    self.then = then
    isRecorded = order.id != nil
    leaseFloor = order.id == nil ? 0 : order.keepUntil
    removal = .none
  }

  // MARK: Before the removal

  /// Notes that it has been written down, or need not be.
  func record(_ order: RemovalOrder) {
    self.order = order
    isRecorded = true
  }

  /// Notes that all entries have left memory, so that there is nothing to look for.
  func clear(_ removal: Removal) {
    self.removal = removal
    isClearing = true
  }

  /// Has questions wait until the search is over.
  func holdGate() {
    guard !holdsGate else { return }
    holdsGate = true
    gate.close()
  }

  func releaseGate() {
    guard holdsGate else { return }
    holdsGate = false
    gate.open()
  }

  /// Notes an entry that was found. One that is known already, or that memory does not know yet,
  /// counts.
  func take(_ match: IndexMatch, counts: Bool) {
    numbers.append(match.number)
    if counts { removal.count(match.allocated) }
  }

  /// Names the one entry that it is about: nothing has to be looked for.
  func take(_ number: UInt32) { numbers = [number] }

  func beginSearch() { isSearching = true }

  /// Puts it off until the disk works again; its answer does not wait for that.
  func putOff() {
    isOwed = true
    isSearching = false
    isClearing = false
    numbers = []
    tell()
  }

  func takeUp() { isOwed = false }

  /// Everything about it is unknown to the index that comes next.
  func beginAnew() {
    isRecorded = false
    order.id = nil
    order.ceiling = .max
  }

  func tell() {
    then.take()?(removal)
  }

  // MARK: The removal

  func step(then: @escaping (RemovalProgress) -> Void) {
    let part = Array(numbers.suffix(RemovalStep.most))
    let isLast = part.count == numbers.count
    var leases = leases.ends(of: part)
    leases.otherwise = leaseFloor
    let (order, ends, wall) = (order, leases, rules.wall)
    threads.order(
      { (disk) throws(DiskTrouble) in
        let id = isLast ? order.id : nil
        if order.isSoft { return try disk.markStale(part, closing: id) }
        try EntryRemoval(disk).remove(part, leases: ends, at: wall, closing: id)
      },
      then: { [unowned self] done in ended(part, done: done != nil, isLast: isLast, then) })
  }

  private func ended(
    _ part: [UInt32], done: Bool, isLast: Bool, _ then: (RemovalProgress) -> Void
  ) {
    guard done, !isOwed else {
      tell()
      return then(.failed)
    }
    numbers.removeLast(part.count)
    if !order.isSoft, !leases.ends(of: part).ends.isEmpty || leaseFloor > rules.wall {
      unlinks.schedule(after: rules.limits.lease)
    }
    if isLast { tell() }
    then(isLast ? .done : .more)
  }
}
