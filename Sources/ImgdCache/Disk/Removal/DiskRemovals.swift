// Everything that goes from the disk goes through this queue: what was evicted, lost or has grown too
// old, what a purge means, a single key, all there is, and files whose lease is over.
//
// An entry leaves memory at once, so it is not found any more. Its row and its file follow, in steps
// that take turns. A purge is written down first (`RemovalOrder`); a kill at any later moment leaves
// the rest to the next start. What the disk refuses stays in the queue until `resume`.

internal import ImgdSystem

/// The one queue of removals.
final class DiskRemovals {
  enum Reason {
    case eviction
    /// Its file is not there, or not whole.
    case loss
  }

  /// So many purges may wait for a disk; beyond that everything goes, which means all of them.
  private static let mostOwed = 64
  /// How long the purges that are still under way may take when the daemon stops.
  private static let longestEnd = Duration.seconds(3)

  private let threads: DiskThreads
  private let index: DiskIndex
  private let leases: FileLeases
  private let uses: UseLog
  private let rules: DiskRules
  private let gate: DiskGate
  private let health: DiskHealth
  private let reports: DiskReports

  private let unlinks: UnlinkWork
  private let entries: EntryWork
  /// Purges that have still to be written down or to find their entries.
  private var searching: [PurgeWork] = []
  /// Works that take turns.
  private var removing = Fifo<any RemovalWork>()
  /// The one whose turn it is.
  private var current: (any RemovalWork)?
  /// Works that wait for the disk to work again.
  private var stalled: [any RemovalWork] = []
  /// Works that there is one of, which have something to do.
  private var pending: Set<ObjectIdentifier> = []
  /// The writer has a job of this queue.
  private var isBusy = false

  init(
    _ threads: DiskThreads, _ index: DiskIndex, _ leases: FileLeases, _ uses: UseLog,
    _ rules: DiskRules, _ gate: DiskGate, _ health: DiskHealth, _ reports: DiskReports,
    loop: EventLoop
  ) {
    self.threads = threads
    self.index = index
    self.leases = leases
    self.uses = uses
    self.rules = rules
    self.gate = gate
    self.health = health
    self.reports = reports
    unlinks = UnlinkWork(threads, rules, loop: loop)
    entries = EntryWork(threads, leases, rules, unlinks)
    unlinks.onDue = { [unowned self] in enqueueOnce(unlinks) }
  }

  /// Purges wait for a disk that works: nothing may be told of what they mean.
  var isOwing: Bool { searching.contains(where: \.isOwed) }

  /// Whether nothing has to go that is known of.
  var isIdle: Bool { searching.isEmpty && removing.isEmpty && stalled.isEmpty && !isBusy }

  // MARK: Orders

  /// Removes the entries at some places. Where room is wanted at once, all of them go before anything
  /// that the writer is told next.
  func remove(_ places: [Int], as reason: Reason, urgently: Bool = false) {
    guard !places.isEmpty else { return }
    var removal = Removal()
    var numbers: [UInt32] = []
    for place in places {
      let entry = index.remove(place)
      removal.count(entry.allocated)
      numbers.append(entry.number)
    }
    if reason == .eviction { reports.evicted(removal) }
    entries.add(numbers)
    if urgently { entries.stepThrough() } else { enqueueOnce(entries) }
  }

  /// Removes the entry of a key for good: it is not found again after a restart either.
  func remove(_ place: Int, of key: CacheKey) {
    let work = work(
      RemovalOrder(
        PurgeFilter(key), isSoft: false, askedAt: rules.wall, keepUntil: leases.lastEnd))
    work.take(index.remove(place).number)
    enqueue(work)
  }

  /// Removes the entries that match, or marks them; `then` is told how much when it is durable.
  func remove(
    matching filter: PurgeFilter, isSoft: Bool, then: @escaping (Removal) -> Void
  ) {
    let order = RemovalOrder(
      filter, isSoft: isSoft, askedAt: rules.wall, keepUntil: leases.lastEnd)
    let work = work(order, then: then)
    searching.append(work)
    guard health.state != .off else { return putOff(work) }
    begin(work)
    go()
  }

  /// Removes files whose lease will be over by then.
  func removeUnlinked(after delay: Duration) { unlinks.schedule(after: delay) }

  private func work(_ order: RemovalOrder, then: ((Removal) -> Void)? = nil) -> PurgeWork {
    PurgeWork(order, threads, leases, rules, unlinks, gate, then: then)
  }

  // MARK: Life

  /// Takes over the purges that the index file has from an earlier process.
  func adopt(_ orders: [RemovalOrder]) {
    for order in orders {
      if order.takesEverything {
        enqueue(clearing(order, LeaseEnds(otherwise: order.keepUntil)))
      } else {
        let work = work(order)
        searching.append(work)
        work.holdGate()
      }
    }
  }

  /// Goes on after the disk has refused something, or with an index that has been opened.
  func resume() {
    for work in searching where work.isOwed {
      work.takeUp()
      begin(work)
    }
    for work in stalled { removing.append(work) }
    stalled = []
    enqueueOnce(entries)
    enqueueOnce(unlinks)
  }

  /// The index is given up: purges will be carried out in the next one.
  func supersede() {
    let works = unfinished
    (removing, stalled, current, pending) = (Fifo(), [], nil, [])
    entries.forget()
    for work in searching where !work.isOwed { putOff(work) }
    for case let work as PurgeWork in works {
      searching.append(work)
      putOff(work)
    }
    for work in searching { work.beginAnew() }
  }

  /// Has the writer write down what is not, and carry out what there is time for.
  func stop() {
    let purges =
      searching + unfinished.compactMap { $0 as? PurgeWork }
    guard !purges.isEmpty else { return }
    let (orders, leases) = (purges.map(\.order).filter { $0.id == nil }, leases.ends)
    threads.order { (disk) throws(DiskTrouble) in
      LastRemovals(disk, leases: leases).run(recording: orders, within: Self.longestEnd)
    }
  }

  // MARK: Turns

  private var unfinished: [any RemovalWork] {
    removing.all + stalled + [current].compactMap(\.self)
  }

  private func enqueue(_ work: any RemovalWork) {
    removing.append(work)
    go()
  }

  /// The same for a work that may be in the queue already.
  private func enqueueOnce(_ work: any RemovalWork) {
    if pending.insert(ObjectIdentifier(work)).inserted { enqueue(work) }
  }

  /// Gives the writer the next job: searches first, as questions wait for them.
  private func go() {
    guard !isBusy else { return }
    let purges = searching.filter { !$0.isOwed }
    let unrecorded = purges.filter { !$0.isRecorded }
    if !unrecorded.isEmpty { return record(unrecorded) }
    if let purge = purges.first { return search(purge) }
    guard let work = removing.popFirst() else { return }
    (current, isBusy) = (work, true)
    work.step { [unowned self, generation = threads.generation] progress in
      isBusy = false
      if generation == threads.generation { ended(work, progress) }
      go()
    }
  }

  private func ended(_ work: any RemovalWork, _ progress: RemovalProgress) {
    current = nil
    switch progress {
    case .more: removing.append(work)
    case .failed: stalled.append(work)
    case .done: pending.remove(ObjectIdentifier(work))
    }
  }

  // MARK: Purges

  /// From now on nothing that a purge means is found.
  private func begin(_ work: PurgeWork) {
    if work.order.takesEverything, index.isLoaded {
      work.clear(index.removeAll())
      entries.forget()
    } else {
      work.holdGate()
    }
  }

  private func record(_ works: [PurgeWork]) {
    isBusy = true
    uses.write()
    let orders = works.map(\.order)
    let leases = orders.contains(where: \.takesEverything) ? leases.ends : LeaseEnds()
    threads.order(
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk).record(orders, leases: leases) },
      then: { [unowned self] recorded in
        isBusy = false
        if let recorded {
          for (work, order) in zip(works, recorded) { work.record(order) }
          for work in works where work.isClearing { endSearch(of: work, leases) }
        } else {
          for work in works { putOff(work) }
        }
        go()
      })
  }

  /// None of its entries is found any more; the rows and the files have still to go. A purge of
  /// everything is over with that for its client, since it has been written down.
  private func endSearch(of work: PurgeWork, _ leases: LeaseEnds) {
    searching.removeAll { $0 === work }
    if work.order.takesEverything, work.order.id != nil {
      removing.append(clearing(work.order, leases))
      work.tell()
    } else {
      removing.append(work)
    }
    work.releaseGate()
  }

  private func clearing(_ order: RemovalOrder, _ leases: LeaseEnds) -> ClearingWork {
    ClearingWork(threads, rules, unlinks, order, leases)
  }

  private func search(_ work: PurgeWork) {
    isBusy = true
    let (order, goesOn) = (work.order, work.isSearching)
    work.beginSearch()
    threads.order(
      { (disk) throws(DiskTrouble) in goesOn ? try disk.findMore() : try disk.find(order) },
      then: { [unowned self] part in
        isBusy = false
        if let part { found(part, for: work) } else { putOff(work) }
        go()
      })
  }

  private func found(_ part: SearchPart, for work: PurgeWork) {
    for match in part.matches {
      let isHere = index.place(of: match.digest, number: match.number) != nil
      // Its row may still be there, when it has been removed already.
      work.take(match, counts: isHere || index.isUnread(match.number))
      if work.order.isSoft {
        index.markStale(match.digest, number: match.number)
      } else {
        index.remove(match.digest, number: match.number)
      }
    }
    if part.isLast { endSearch(of: work, work.order.takesEverything ? leases.ends : LeaseEnds()) }
  }

  /// A purge could not be written, or its entries not be found. Its client will never see them, so
  /// the tier is off until it has been carried out.
  private func putOff(_ work: PurgeWork) {
    guard !work.isOwed else { return }
    work.putOff()
    health.worsen(to: .off, isFull: health.isFull)
    limitOwed()
    work.releaseGate()
  }

  private func limitOwed() {
    let owed = searching.filter(\.isOwed)
    guard owed.count > Self.mostOwed else { return }
    let all = self.work(
      RemovalOrder(PurgeFilter(), isSoft: false, askedAt: rules.wall, keepUntil: leases.lastEnd))
    searching.removeAll(where: \.isOwed)
    searching.append(all)
    all.putOff()
  }
}
