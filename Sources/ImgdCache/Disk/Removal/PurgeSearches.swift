// How purges find their entries.
//
// Many are handled together, so that a thousand of them cost only a few jobs of the writer: many are written down in
// one commit, many search in one job, and those that have to look at every entry share one pass. No job looks at more
// than a few thousand rows; stores get their turns in between, and the reader has nothing to do with it.

internal import ImgdSystem

final class PurgeSearches: DiskPart {
  /// Called when the entries of a purge have been found and have left memory; set once by the queue.
  var onFound: (PurgeWork) -> Void = { _ in }

  /// A client waits until up to this many files have gone; if there are more, it is answered before.
  private static let mostAwaited = 1_024

  private let owed: OwedPurges

  private var unrecorded = PurgeLane()
  /// Purges with a condition that leads to their entries.
  private var led = PurgeLane()
  /// Purges that have to look at every entry.
  private var scanning = PurgeLane()
  private var turn = 0

  init(_ ground: DiskGround, owed: OwedPurges) {
    self.owed = owed
    super.init(ground)
  }

  var isEmpty: Bool { unrecorded.isEmpty && led.isEmpty && scanning.isEmpty }

  var all: [PurgeWork] { unrecorded.all + led.all + scanning.all }

  /// Adds a purge; from now on no entry that it covers is found.
  func add(_ work: PurgeWork) {
    if work.order.takesEverything, index.isLoaded {
      let table = index.takeAll()
      work.clear(Removal(entries: table.count, bytes: table.allocated))
      threads.letGo(of: table)
    } else {
      pending.add(work)
    }
    unrecorded.append(work)
  }

  func adopt(_ work: PurgeWork) {
    pending.add(work)
    lookLater(work)
  }

  /// Hands out all purges because the index is given up: in the next one they have to be written down and to search
  /// again.
  func takeAll() -> [PurgeWork] {
    defer { (unrecorded, led, scanning) = (PurgeLane(), PurgeLane(), PurgeLane()) }
    return all
  }

  private func lookLater(_ work: PurgeWork) {
    if work.order.needsScan { scanning.append(work) } else { led.append(work) }
  }

  func step(then: @escaping () -> Void) -> Bool {
    for _ in 0..<3 {
      turn = (turn + 1) % 3
      switch turn {
      case 0 where unrecorded.takeInHand(): record(then)
      case 1 where led.takeInHand(): search(\.led, then)
      case 2 where scanning.takeInHand(): search(\.scanning, then)
      default: continue
      }
      return true
    }
    return false
  }

  private func record(_ then: @escaping () -> Void) {
    let orders = unrecorded.inHand.map(\.order)
    // The search goes by the last uses in the index file.
    if orders.contains(where: { $0.filter.unusedFor != nil }) { uses.write() }
    let leases = orders.contains(where: \.takesEverything) ? leases.takeEnds() : LeaseEnds()
    threads.order(
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk: disk).record(orders, leases: leases) },
      then: { [unowned self, generation = threads.generation] recorded in
        if generation == threads.generation { wereRecorded(recorded) }
        then()
      })
  }

  private func wereRecorded(_ orders: [RemovalOrder]?) {
    let works = unrecorded.letGo()
    guard let orders else { return owed.add(works) }
    for (work, order) in zip(works, orders) {
      work.order = order
      if order.id != nil { owed.settle(work) }
      if work.isClearing { end(work) } else { lookLater(work) }
    }
  }

  private typealias Lane = ReferenceWritableKeyPath<PurgeSearches, PurgeLane>

  private func search(_ lane: Lane, _ then: @escaping () -> Void) {
    let (orders, goesOn) = (self[keyPath: lane].inHand.map(\.order), self[keyPath: lane].isUnderWay)
    let isScan = lane == \.scanning
    threads.order(
      { (disk) throws(DiskTrouble) in
        isScan ? try disk.scan(orders, goingOn: goesOn) : try disk.find(orders, goingOn: goesOn)
      },
      then: { [unowned self, generation = threads.generation] parts in
        if generation == threads.generation { found(parts, in: lane) }
        then()
      })
  }

  private func found(_ parts: [SearchPart]?, in lane: Lane) {
    guard let parts else { return owed.add(self[keyPath: lane].letGo()) }
    let works = self[keyPath: lane].inHand
    self[keyPath: lane].isUnderWay = parts.last?.isLast == false
    self[keyPath: lane].letGo(of: parts.count { $0.isLast })
    for (work, part) in zip(works, parts) { found(part, for: work) }
  }

  private func found(_ part: SearchPart, for work: PurgeWork) {
    for match in part.matches {
      let isHere = index.place(of: match.digest, number: match.number) != nil
      // An entry that has already been removed may still have its row.
      work.takeIn(match, counts: isHere || index.isUnread(match.number))
      work.onMatch?(match.digest)
      if work.order.isSoft {
        index.markStale(match.digest, number: match.number)
      } else {
        index.remove(match.digest, number: match.number)
      }
    }
    if part.isLast { end(work, isClosed: part.isClosed) }
  }

  /// Ends the search of a purge: none of its entries is found any more, but rows and files still have to go.
  private func end(_ work: PurgeWork, isClosed: Bool = false) {
    pending.remove(work)
    if isClosed, work.count == 0 {
      owed.settle(work)
      work.tell()
    } else {
      // A purge with a row is carried out whatever happens, and no entry that it covers is found any more.
      if work.order.id != nil, work.count > Self.mostAwaited { work.tell() }
      onFound(work)
    }
  }
}

/// Purges that wait for one kind of job, and those for which it is being done.
struct PurgeLane {
  private static let mostAtOnce = 64

  private var waiting = Fifo<PurgeWork>()
  private(set) var inHand: [PurgeWork] = []
  /// Whether the job for those in hand has begun, and has to go on.
  var isUnderWay = false

  var isEmpty: Bool { waiting.isEmpty && inHand.isEmpty }

  var all: [PurgeWork] { inHand + waiting.all }

  mutating func append(_ work: PurgeWork) { waiting.append(work) }

  /// Takes some in hand if there are none, and returns whether there are any then.
  mutating func takeInHand() -> Bool {
    if inHand.isEmpty { while inHand.count < Self.mostAtOnce, let work = waiting.popFirst() { inHand.append(work) } }
    return !inHand.isEmpty
  }

  mutating func letGo(of count: Int) { inHand.removeFirst(count) }

  mutating func letGo() -> [PurgeWork] {
    defer { (inHand, isUnderWay) = ([], false) }
    return inHand
  }
}

/// A purge on its way: it is written down, its entries are looked for, and then they are removed.
///
/// The first two are done by `PurgeSearches`; a step of this work removes, or marks, some of
/// the entries that were found.
final class PurgeWork: RemovalWork {
  /// The purge, with its row once it has been written down, and its ceiling even if a full disk refused it a row.
  var order: RemovalOrder
  /// Whether it is about everything and all entries have left memory.
  private(set) var isClearing = false
  /// Whether `PendingPurges` keeps the entries that it covers from being shown.
  var isInForce = false
  /// Called for each entry that is found.
  var onMatch: ((KeyDigest) -> Void)?

  private let tools: RemovalTools
  /// Files stay until then, because an earlier process may have leased them; zero without an earlier process.
  private let leaseFloor: Int64
  private var then: ((PurgeOutcome) -> Void)?
  private var removal: Removal
  private var numbers: [UInt32] = []

  init(_ order: RemovalOrder, with tools: RemovalTools, then: ((PurgeOutcome) -> Void)? = nil) {
    self.order = order
    self.tools = tools
    self.then = then
    leaseFloor = order.id == nil ? 0 : order.keepUntil
    removal = .none
  }

  var isAwaited: Bool { then != nil }

  var count: Int { numbers.count }

  func clear(_ removal: Removal) {
    self.removal = removal
    isClearing = true
  }

  /// Notes an entry that was found; `counts` says whether it counts among the removed ones.
  func takeIn(_ match: IndexMatch, counts: Bool) {
    numbers.append(match.number)
    if counts { removal.count(match.allocated) }
  }

  /// Begins again because the disk has refused, or because the index is a new one, which does not have the purge.
  func beginAnew() {
    isClearing = false
    numbers = []
    order.id = nil
    order.ceiling = .max
  }

  func tell() { tell(.done(removal)) }

  func tell(_ outcome: PurgeOutcome) { then.take()?(outcome) }

  func forgetClient() { then = nil }

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
        try EntryRemoval(disk: disk).remove(part, leases: leases, at: wall, closing: id)
      }, then: { [unowned self] done in ended(part, done: done != nil, isLast: isLast, then) })
  }

  private func ended(_ part: [UInt32], done: Bool, isLast: Bool, _ then: (RemovalProgress) -> Void) {
    guard done else {
      if order.id != nil { tell() }
      return then(.failed)
    }
    numbers.removeLast(part.count)
    if !order.isSoft, !tools.leases.ends(of: part).ends.isEmpty || leaseFloor > tools.rules.wall { tools.unlinkLater() }
    if isLast { tell() }
    then(isLast ? .done : .more)
  }
}
