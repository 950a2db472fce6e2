internal import ImgdSystem

/// Everything that the disk tier consists of, put together.
///
/// Each part has its own state and one verb, and knows only parts that stand above it here. Trouble
/// goes the other way, as an event (`DiskThreads.onTrouble`).
final class DiskParts {
  let reports: DiskReports
  let rules: DiskRules
  let health: DiskHealth
  let gate: DiskGate
  let threads: DiskThreads
  let index: DiskIndex
  let files: DiskFiles
  let uses: UseLog
  let pending: PendingPurges
  let leases: FileLeases
  let removals: DiskRemovals
  let losses: DiskLosses
  let verified: VerifiedFiles
  let eviction: DiskEviction
  let size: FileSystemSize
  let stores: DiskStores
  let renewals: DiskRenewals
  let fleet: StoredFleetNotes
  let loads: DiskLoads
  let purges: DiskPurges
  let lending: DiskLending
  let hits: ReadyHits
  let listings: DiskListings
  let pages: PageRelease
  let check: DirectoryCheck
  let recovery: DiskRecovery
  let holding: DiskHolding

  init(
    path: String, runtime: String? = nil, limits: DiskLimits, suffixes: [String],
    loop: EventLoop, wall: Int64
  ) throws(SystemFailure) {
    reports = DiskReports()
    rules = DiskRules(limits, loop: loop, wall: wall)
    health = DiskHealth(reports)
    gate = DiskGate(loop: loop)
    threads = try DiskThreads(on: loop, owed: OwedFile(runtime: runtime, cache: path))
    index = DiskIndex()
    files = DiskFiles(index, threads, suffixes: suffixes)
    uses = UseLog(index, threads, rules, loop: loop)
    leases = FileLeases(index, rules)
    pending = PendingPurges(index)
    removals = DiskRemovals(
      threads, index, leases, uses, rules, pending, health, reports, loop: loop)
    losses = DiskLosses(index, files, removals, threads, reports)
    verified = VerifiedFiles(index, files, threads, losses, loop: loop)
    eviction = DiskEviction(index, removals, threads, health, rules, loop: loop)
    size = FileSystemSize(threads, rules, eviction)
    stores = DiskStores(
      index, files, removals, eviction, verified, threads, health, rules, reports, loop: loop)
    renewals = DiskRenewals(index, files, threads, rules, loop: loop)
    fleet = StoredFleetNotes(threads, health)
    loads = DiskLoads(
      index, files, stores, renewals, removals, pending, losses, uses, threads, gate, health,
      rules, reports, loop: loop)
    purges = DiskPurges(index, stores, removals, gate, health, reports)
    lending = DiskLending(
      index, files, stores, verified, losses, leases, uses, health, rules, loop: loop)
    hits = ReadyHits(
      index, files, stores, loads, pending, verified, leases, uses, gate, health, rules, reports)
    listings = DiskListings(index, files, threads, pending, gate, health, rules)
    pages = PageRelease(threads, stores)
    check = DirectoryCheck(index, threads)
    let opener = DiskOpener(
      DiskOpener.Parts(
        index: index, files: files, verified: verified, leases: leases, uses: uses,
        renewals: renewals, loads: loads,
        loading: IndexLoading(index, loads, threads, eviction), stores: stores, fleet: fleet,
        removals: removals, size: size, check: check, threads: threads, gate: gate,
        health: health, reports: reports), path: path)
    recovery = DiskRecovery(
      opener, files, stores, fleet, removals, eviction, threads, health, rules, loop: loop)
    holding = DiskHolding(
      index: index, stores: stores, fleet: fleet, leases: leases, removals: removals,
      pending: pending)
    removals.onRoom = { [unowned recovery] in recovery.retryIfFull() }
    threads.onTrouble = { [unowned recovery] in recovery.react(to: $0) }
  }
}
