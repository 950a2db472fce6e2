internal import CSQLite

/// Everything that the disk tier consists of, put together.
///
/// Each part has its own state and one verb, and uses the ground and parts that stand above it here. What goes the
/// other way is an event: trouble (`DiskThreads.onTrouble`), and an index that comes or goes (`DiskOpener`).
final class DiskParts: DiskPart {
  let removals: DiskRemovals
  let verified: VerifiedFiles
  let eviction: DiskEviction
  let stores: DiskStores
  let renewals: DiskRenewals
  let fleet: StoredFleetNotes
  let loads: DiskLoads
  let diskPurges: DiskPurges
  let lending: DiskLending
  let hits: ReadyHits
  let listings: DiskListings
  let check: DirectoryCheck
  let recovery: DiskRecovery
  private let loading: IndexLoading
  private var isGivingBack = false

  override init(_ ground: DiskGround) {
    removals = DiskRemovals(ground)
    verified = VerifiedFiles(ground, removals: removals)
    eviction = DiskEviction(ground, removals: removals)
    stores = DiskStores(ground, removals: removals, eviction: eviction, verified: verified)
    renewals = DiskRenewals(ground)
    fleet = StoredFleetNotes(ground)
    loads = DiskLoads(ground, stores: stores, renewals: renewals, removals: removals)
    diskPurges = DiskPurges(ground, stores: stores, removals: removals)
    lending = DiskLending(ground, stores: stores, verified: verified, removals: removals)
    hits = ReadyHits(ground, stores: stores, loads: loads, verified: verified)
    listings = DiskListings(ground, stores: stores, renewals: renewals)
    check = DirectoryCheck(ground)
    loading = IndexLoading(ground, loads: loads, eviction: eviction)
    let opener = DiskOpener(ground)
    recovery = DiskRecovery(
      ground, opener: opener, stores: stores, fleet: fleet, removals: removals, eviction: eviction)
    super.init(ground)
    removals.onRoom = { [unowned recovery] in recovery.retryIfFull() }
    threads.onTrouble = { [unowned recovery] in recovery.react(to: $0) }
    opener.onOpened = { [unowned self] in begin(with: $0) }
    opener.onFailure = { [unowned fleet] in fleet.fail() }
    opener.onGivenUp = { [unowned self] in forgetIndex() }
  }

  /// Has all parts begin with an index. Purges come first, so that no entry that they cover is shown meanwhile.
  private func begin(with opened: OpenedDisk) {
    verified.begin(opened.directory)
    health.recover()
    recovery.noteOpening()
    removals.adopt(opened.removals)
    if opened.isAnother { forgetWhatHasMissedSomething(opened) }
    removals.resume()
    loading.begin(in: opened.directory)
    // Purges that result from these notes come after those that the file has.
    fleet.begin(with: opened.fleet)
    eviction.lookAtFileSystem()
    if let entries = opened.entries { loading.finish(with: entries) }
    check.begin(wasClean: opened.wasClean)
    stores.send()
  }

  /// Begins anew in a directory that comes back after this process has had another one: what was purged and replaced
  /// meanwhile may still be there.
  private func forgetWhatHasMissedSomething(_ opened: OpenedDisk) {
    let hasChanged = purges.newest > 0 || reports.counts.insertions > 0
    guard hasChanged, opened.entries?.isEmpty != true else { return }
    reports.onNews(
      .trouble("another directory has come in place of the cache directory; it may have missed purges, and is emptied"))
    removals.remove(matching: PurgeFilter(), isSoft: false, onMatch: nil) { _ in }
  }

  private func forgetIndex() {
    verified.endWatch()
    leases.forget()
    renewals.forget()
    uses.forget()
    removals.supersede()
    loads.cancel()
  }

  /// An estimate for a picture on its way: its record and what belongs to it, without its bytes.
  private static let record = 1_024
  /// An estimate for a lease, in the table and in the queue of endings.
  private static let lease = 48
  private static let purge = 1_024

  var held: HeldBytes {
    guard health.state != .off else { return HeldBytes() }
    return HeldBytes(
      index: index.heldBytes, stores: stores.bytes + stores.count * Self.record + fleet.heldBytes,
      leases: leases.count * Self.lease,
      removals: removals.numbersHeld * MemoryLayout<UInt32>.stride + pending.count * Self.purge,
      database: Int(sqlite3_memory_used()))
  }

  func giveBack(then done: @escaping () -> Void) {
    guard !isGivingBack else { return }
    isGivingBack = true
    // The writer gets to this after the batch that is being stored; the next batch has been sent by then.
    threads.giveBack { [unowned self] in
      isGivingBack = false
      stores.isStoring ? giveBack(then: done) : done()
    }
  }
}
