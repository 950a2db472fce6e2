/// A purge on its way: it is written down, its entries are looked for, and then they are removed.
///
/// The first two are done by `PurgeSearches`; a step of this work removes, or marks, some of
/// the entries that were found.
final class PurgeWork: RemovalWork {
  /// The purge, with its row and its ceiling once it has been written down.
  private(set) var order: RemovalOrder
  /// Whether it is about everything and all entries have left memory.
  private(set) var isClearing = false
  /// Whether `PendingPurges` keeps the entries that it covers from being shown.
  var isInForce = false

  private let tools: RemovalTools
  /// Files stay until then, because an earlier process may have leased them; zero without an earlier process.
  private let leaseFloor: Int64
  private var then: ((PurgeOutcome) -> Void)?
  private var removal: Removal
  /// The entries still to be removed from the disk.
  private var numbers: [UInt32] = []

  init(_ order: RemovalOrder, with tools: RemovalTools, then: ((PurgeOutcome) -> Void)? = nil) {
    self.order = order
    self.tools = tools
    self.then = then
    leaseFloor = order.id == nil ? 0 : order.keepUntil
    removal = .none
  }

  // MARK: Before the removal

  /// Whether a client waits for its answer.
  var isAwaited: Bool { then != nil }

  /// How many known entries still have to go.
  var count: Int { numbers.count }

  /// Notes that it has been written down, or was refused a row by a full disk.
  func record(_ order: RemovalOrder) { self.order = order }

  /// Notes that all entries have left memory, so that there is nothing to look for.
  func clear(_ removal: Removal) {
    self.removal = removal
    isClearing = true
  }

  /// Notes an entry that was found; `counts` says whether it counts among the removed ones.
  func takeIn(_ match: IndexMatch, counts: Bool) {
    numbers.append(match.number)
    if counts { removal.count(match.allocated) }
  }

  /// Names the one entry that it is about: nothing has to be looked for.
  func nameEntry(_ number: UInt32) { numbers = [number] }

  /// Begins again because the disk has refused, or because the index is a new one, which does not have the purge.
  func beginAnew() {
    isClearing = false
    numbers = []
    order.id = nil
    order.ceiling = .max
  }

  func tell() { tell(.done(removal)) }

  func tell(_ outcome: PurgeOutcome) { then.take()?(outcome) }

  /// Drops the client's callback: no more answers are given.
  func forgetClient() { then = nil }

  // MARK: The removal

  func step(then: @escaping (RemovalProgress) -> Void) {
    let part = Array(numbers.suffix(RemovalStep.most))
    let isLast = part.count == numbers.count
    var ends = tools.leases.ends(of: part)
    ends.otherwise = leaseFloor
    let (order, leases, wall) = (order, ends, tools.rules.wall)
    tools.threads.order(
      { (disk) throws(DiskTrouble) in
        let id = isLast ? order.id : nil
        if order.isSoft { return try disk.markStale(part, closing: id) }
        try EntryRemoval(disk).remove(part, leases: leases, at: wall, closing: id)
      }, then: { [unowned self] done in ended(part, done: done != nil, isLast: isLast, then) })
  }

  private func ended(_ part: [UInt32], done: Bool, isLast: Bool, _ then: (RemovalProgress) -> Void) {
    guard done else {
      // A purge with a row is carried out even after a kill.
      if order.id != nil { tell() }
      return then(.failed)
    }
    numbers.removeLast(part.count)
    if !order.isSoft, !tools.leases.ends(of: part).ends.isEmpty || leaseFloor > tools.rules.wall { tools.unlinkLater() }
    if isLast { tell() }
    then(isLast ? .done : .more)
  }
}
