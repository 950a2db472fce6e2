// How purges find their entries.
//
// Many are handled together, so that a thousand of them cost only a few jobs of the writer: many are
// written down in one commit, many search in one job, and those that have to look at every
// entry share one pass. No job looks at more than a few thousand rows; stores get their turns in
// between, and the reader has nothing to do with it.

/// Purges that still have to be written down, or to find their entries.
final class PurgeSearches: DiskPart {
  /// Called when the entries of a purge have been found and have left memory; set once by the queue.
  var onFound: (PurgeWork) -> Void = { _ in }

  /// A client waits until up to this many files have gone; if there are more, it is answered before.
  private static let mostAwaited = 1_024

  let ground: DiskGround
  private let owed: OwedPurges

  private var unrecorded = PurgeLane()
  /// Purges with a condition that leads to their entries.
  private var led = PurgeLane()
  /// Purges that have to look at every entry.
  private var scanning = PurgeLane()
  private var turn = 0

  init(_ ground: DiskGround, owed: OwedPurges) {
    self.ground = ground
    self.owed = owed
  }

  var isEmpty: Bool { unrecorded.isEmpty && led.isEmpty && scanning.isEmpty }

  var all: [PurgeWork] { unrecorded.all + led.all + scanning.all }

  // MARK: Coming and going

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

  /// Takes over a purge that is in the index file already.
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

  // MARK: Steps

  /// Gives the writer the next job; false when there is none.
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
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk).record(orders, leases: leases) },
      then: { [unowned self, generation = threads.generation] recorded in
        if generation == threads.generation { wereRecorded(recorded) }
        then()
      })
  }

  private func wereRecorded(_ orders: [RemovalOrder]?) {
    let works = unrecorded.letGo()
    guard let orders else { return owed.add(works) }
    for (work, order) in zip(works, orders) {
      work.record(order)
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
