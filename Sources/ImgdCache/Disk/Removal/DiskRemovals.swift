// Everything that goes from the disk goes through this queue: entries that were evicted, lost or have grown too
// old, the entries of a purge, a single key, everything at once, and files whose lease has ended.
//
// An entry leaves memory at once, so it is not found any more. Its row and its file follow, in steps that take turns.
// A purge is written down first (`RemovalOrder`) and then looks for its entries (`PurgeSearches`); after a kill at
// any later moment the next start does the rest. What the disk refuses stays here until `resume`, and a purge that
// could not be written into the index is written down elsewhere meanwhile (`OwedPurges`).

internal import ImgdSystem

final class DiskRemovals: DiskPart {
  enum Reason {
    case eviction
    case loss
  }

  /// How long purges that are still under way may go on when the daemon stops.
  private static let longestEnd = Duration.seconds(3)
  /// How many forms whose picture has gone leave in one tick.
  private static let mostOrphans = 256

  private let tools: RemovalTools
  private let entries: EntryWork
  private let bodies: EntryWork
  private let searches: PurgeSearches
  private let owed: OwedPurges
  private var removing = Fifo<any RemovalWork>()
  private var current: (any RemovalWork)?
  private var stalled: [any RemovalWork] = []
  /// Those works of which there is only one each and which have something to do.
  private var enqueued: Set<ObjectIdentifier> = []
  private var isBusy = false
  /// Whether the last turn was that of purges that have to find their entries, which alternate with removals.
  private var isTurnOfSearches = false

  override init(_ ground: DiskGround) {
    tools = RemovalTools(ground)
    entries = EntryWork(with: tools)
    bodies = EntryWork(with: tools, keepingRows: true)
    owed = OwedPurges(ground, tools: tools)
    searches = PurgeSearches(ground, owed: owed)
    super.init(ground)
    tools.unlinks.onDue = { [unowned self] in enqueueOnce(tools.unlinks) }
    searches.onFound = { [unowned self] in remove($0) }
    index.onOrphans = { [unowned self] in loop.nextTick { [unowned self] in removeOrphans() } }
  }

  /// Whether purges wait for a disk that works: until then nothing may be shown that they may cover.
  var isOwing: Bool { !owed.isEmpty }

  /// Called when files have gone whose leases had ended; set once by the composition.
  var onRoom: () -> Void {
    get { tools.unlinks.onRemoved }
    set { tools.unlinks.onRemoved = newValue }
  }

  var isIdle: Bool { searches.isEmpty && owed.isEmpty && removing.isEmpty && stalled.isEmpty && !isBusy }

  /// How many numbers of entries are held in memory until the entries have gone.
  var numbersHeld: Int { purgesBeingCarriedOut.reduce(entries.count + bodies.count) { $0 + $1.count } }

  /// Removes the entries at some places. If room is needed `urgently`, all of them go before any job that the writer
  /// is given later.
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
    carryOut(entries, numbers, urgently: urgently)
  }

  /// Removes the bytes of the pictures at some places, which make room that way, and keeps what is known of them.
  func shed(_ places: [Int], urgently: Bool) {
    guard !places.isEmpty else { return }
    var removal = Removal()
    for place in places { removal.count(index.shed(place)) }
    reports.evicted(removal)
    carryOut(bodies, places.map { index[$0].number }, urgently: urgently)
  }

  private func carryOut(_ work: EntryWork, _ numbers: [UInt32], urgently: Bool) {
    work.add(numbers)
    if urgently { work.stepThrough(numbers.count) } else { enqueueOnce(work) }
  }

  /// Removes forms whose picture has gone otherwise than by an eviction, or is another now: nothing leads to them.
  private func removeOrphans() {
    let places = index.orphans(most: Self.mostOrphans)
    guard !places.isEmpty else { return }
    remove(places, as: .loss)
    loop.nextTick { [unowned self] in removeOrphans() }
  }

  /// Removes the entry of a digest for good: even after a restart it is not found again. `then` gets the outcome when it
  /// is durable.
  func remove(_ place: Int, of digest: KeyDigest, then: ((PurgeOutcome) -> Void)? = nil) {
    let work = PurgeWork(tools.order(PurgeFilter(digest)), with: tools, then: then)
    let entry = index.remove(place)
    work.takeIn(IndexMatch(number: entry.number, digest: digest, allocated: entry.allocated), counts: true)
    enqueue(work)
  }

  func remove(
    matching filter: PurgeFilter, isSoft: Bool, onMatch: ((KeyDigest) -> Void)?, then: @escaping (PurgeOutcome) -> Void
  ) {
    let work = PurgeWork(tools.order(filter, isSoft: isSoft), with: tools, then: then)
    work.onMatch = onMatch
    guard health.isUp else { return owed.add([work]) }
    searches.add(work)
    if work.isClearing { forgetEntries() }
    go()
  }

  /// Removes files after a time, by which their leases will have ended.
  func removeUnlinked(after delay: Duration) { tools.unlinks.schedule(after: delay) }

  /// Removes the entries that a purge has found. For its client a purge of everything is done with that, since it
  /// has been written down.
  private func remove(_ work: PurgeWork) {
    guard work.order.takesEverything, work.order.id != nil else { return removing.append(work) }
    removing.append(ClearingWork(work.order, leases: leases.takeEnds(), with: tools))
    work.tell()
  }

  /// Takes over the purges that an earlier process has left: those in the index file, and those
  /// that could not be written into it.
  func adopt(_ orders: [RemovalOrder]) {
    for order in orders where order.id != nil {
      if order.takesEverything {
        let leases = LeaseEnds(otherwise: order.keepUntil)
        removing.append(ClearingWork(order, leases: leases, with: tools))
      } else {
        searches.adopt(PurgeWork(order, with: tools))
      }
    }
    let unknown = orders.filter { $0.id == nil }.map { PurgeWork($0, with: tools) }
    owed.adopt(unknown)
    for work in unknown { searches.add(work) }
  }

  /// Goes on after the disk has refused something, or with an index that has been opened.
  func resume() {
    for work in owed.takeUp() { searches.add(work) }
    for work in stalled { removing.append(work) }
    stalled = []
    enqueueOnce(entries)
    enqueueOnce(bodies)
    enqueueOnce(tools.unlinks)
    go()
  }

  /// Notes that the index is given up: the purges will be carried out in the next one.
  func supersede() {
    let works = searches.takeAll() + purgesBeingCarriedOut
    (removing, stalled, current, enqueued) = (Fifo(), [], nil, [])
    forgetEntries()
    owed.add(works)
  }

  private func forgetEntries() {
    entries.forget()
    bodies.forget()
  }

  /// Has the writer write down the purges that have no row yet, and carry out as many as there is time for.
  func stop() {
    let works = owed.all + searches.all + purgesBeingCarriedOut
    guard !works.isEmpty else { return }
    let orders = works.map(\.order).filter { $0.id == nil }
    threads.finish(orders, leases: leases.takeEnds(), within: Self.longestEnd)
    // A callback that waits for a purge may hold the tier, which then would never be freed.
    for work in works { work.forgetClient() }
  }

  private var purgesBeingCarriedOut: [PurgeWork] {
    (removing.all + stalled + [current].compactMap(\.self)).compactMap { $0 as? PurgeWork }
  }

  private func enqueue(_ work: any RemovalWork) {
    removing.append(work)
    go()
  }

  private func enqueueOnce(_ work: any RemovalWork) {
    if enqueued.insert(ObjectIdentifier(work)).inserted { enqueue(work) }
  }

  /// Gives the writer the next job: purges that look for their entries and removals take turns.
  private func go() {
    guard !isBusy else { return }
    isTurnOfSearches.toggle()
    isBusy = true
    if isTurnOfSearches ? stepSearches() || stepRemoval() : stepRemoval() || stepSearches() { return }
    isBusy = false
  }

  private func stepSearches() -> Bool {
    searches.step { [unowned self] in
      isBusy = false
      go()
    }
  }

  private func stepRemoval() -> Bool {
    guard let work = removing.popFirst() else { return false }
    current = work
    work.step { [unowned self, generation = threads.generation] progress in
      isBusy = false
      if generation == threads.generation { ended(work, progress) }
      go()
    }
    return true
  }

  private func ended(_ work: any RemovalWork, _ progress: RemovalProgress) {
    current = nil
    switch progress {
    case .more: removing.append(work)
    case .failed:
      // A purge whose client has no answer yet begins anew: after a kill the entries that it found might be back.
      if let purge = work as? PurgeWork, purge.isAwaited { owed.add([purge]) } else { stalled.append(work) }
    case .done:
      enqueued.remove(ObjectIdentifier(work))
      if let purge = work as? PurgeWork { owed.settle(purge) }
    }
  }

  /// Looks whether the directory is in its place: nothing reports it when a directory above was moved. If it is not,
  /// everything starts over.
  func lookForDirectory() {
    guard let directory = files.directory, !directory.isInPlace() else { return }
    threads.report(.directoryIsGone)
  }

  /// Removes an entry whose file is missing. If the cache directory is missing too, everything begins anew.
  func removeMissing(_ place: Int) {
    remove([place], as: .loss)
    threads.order(
      { (disk) throws(DiskTrouble) in disk.isInPlace },
      then: { [unowned threads] isInPlace in
        guard isInPlace == false else { return }
        threads.report(.directoryIsGone)
      })
  }

  /// Removes an entry whose file or row is not what was stored.
  func removeDamaged(_ place: Int, _ reason: String) {
    reports.damaged("\(files.name(of: index[place])): \(reason)")
    remove([place], as: .loss)
  }
}

/// Takes in purges as they are asked for. Pictures on their way to the disk are compared with `PurgeList`.
final class DiskPurges: DiskPart {
  private let stores: DiskStores
  private let removals: DiskRemovals

  init(_ ground: DiskGround, stores: DiskStores, removals: DiskRemovals) {
    self.stores = stores
    self.removals = removals
    super.init(ground)
  }

  func purge(
    _ filter: PurgeFilter, isSoft: Bool, onMatch: ((KeyDigest) -> Void)? = nil, then: @escaping (PurgeOutcome) -> Void
  ) {
    guard health.state != .off else { return then(.done(.none)) }
    if !health.isUp, gate.isClosed {
      return gate.wait { [unowned self] in purge(filter, isSoft: isSoft, onMatch: onMatch, then: then) }
    }
    if health.isUp {
      reports.counts.purges += 1
      // The search finds those pictures that are stored by the time it looks.
      stores.sendAll()
    }
    removals.remove(matching: filter, isSoft: isSoft, onMatch: onMatch, then: then)
  }

  func purge(_ key: CacheKey, isSoft: Bool, then: @escaping (PurgeOutcome) -> Void) {
    guard let digest = key.digest else { return then(.done(.none)) }
    stores.drop(key)
    // What is stored from now on is another entry, and stays.
    if !isSoft, health.isUp, let place = index.place(of: digest) {
      return removals.remove(place, of: digest, then: then)
    }
    purge(PurgeFilter(digest), isSoft: isSoft, then: then)
  }

  func remove(_ key: CacheKey) {
    guard let digest = key.digest else { return }
    if let place = index.place(of: digest) { removals.remove(place, of: digest) }
    stores.drop(key)
    // The file may have an entry that is not in memory yet.
    if !index.isLoaded { purge(PurgeFilter(digest), isSoft: false) { _ in } }
  }
}
