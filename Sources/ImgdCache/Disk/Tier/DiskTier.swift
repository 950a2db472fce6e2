// The pictures that are held on disk, within a capacity, as files that others may open.
//
// The control loop knows of each entry what it takes to find it (`DiskIndex`), and decides. The work
// is done by two threads, a writer and a reader, that take jobs as values (`DiskThreads`). Where the
// loop does not know enough, it asks the reader: for the record of an entry, and, while the index is
// still being read after the start, whether there is an entry at all.
//
//   fetch   digest → entry → the reader brings picture and record → an image for the memory tier
//   store   an image → a batch for the writer → an entry
//   lend    an image → its file is looked at, and stays for the time of the lease
//   purge   a filter, in force at once → the writer writes it down and looks for entries, which go
//   trim    above the capacity, what was not used for longest goes
//
// Nothing that goes wrong here fails a fetch: the tier becomes read-only, or is opened anew, and
// tries by itself to become whole again.

package import ImgdSystem

/// The pictures on disk; it belongs to the control loop, and has two threads work for it.
package final class DiskTier {
  let parts: DiskParts

  /// A tier in a directory that has been opened, or that cannot be opened for now.
  ///
  /// In the directory `runtime` it keeps what the disk refuses to keep.
  package convenience init(
    _ directory: Result<DiskDirectory, DirectoryProblem>, path: String, runtime: String?,
    limits: DiskLimits, suffixes: [String], loop: EventLoop, wall: Int64 = WallClock.seconds
  ) throws(SystemFailure) {
    self.init(
      DiskParts(
        try DiskGround(
          path: path, runtime: runtime, limits: limits, suffixes: suffixes, loop: loop, wall: wall)),
      directory)
  }

  init(_ parts: DiskParts, _ directory: Result<DiskDirectory, DirectoryProblem>) {
    self.parts = parts
    parts.recovery.begin(directory)
    parts.eviction.scheduleSweep()
  }

  /// A tier that is off: nothing is found, stored or lent.
  package init(offOn loop: EventLoop) {
    parts = DiskParts(DiskGround(offOn: loop))
  }

  // MARK: Facts

  /// Whether there will ever be anything here.
  package var isEnabled: Bool { state != .off }

  package var limits: DiskLimits { parts.rules.limits }

  /// The purges that both tiers go by.
  package var purges: PurgeList { parts.ground.purges }

  package var counts: DiskCounts { parts.reports.counts }

  package var state: DiskState { parts.health.state }

  /// Looks whether the directory is still where it was, before somebody is told of the state.
  package func lookForDirectory() { parts.losses.lookForDirectory() }

  /// What stands in the way, and what would be right; nil while nothing does, and for a tier that is off.
  package var reason: String? { parts.health.reason }

  package var count: Int { parts.index.count }

  /// The bytes that all files take on disk.
  package var allocated: Int { parts.index.allocated }

  /// Bytes of files that have been leased.
  package var lentBytes: Int { parts.leases.bytes }

  /// The memory that the tier takes.
  package var held: HeldBytes { parts.held }

  /// Whether the index is being read.
  package var isLoading: Bool {
    (parts.health.isOpening || parts.files.isOpen) && !parts.index.isLoaded
  }

  /// It will be known soon whether anything can be stored.
  package var isOpening: Bool { parts.health.isOpening }

  /// Told what was stored and removed, and what went wrong; set once by the composition.
  package var onNews: (DiskNews) -> Void {
    get { parts.reports.onNews }
    set { parts.reports.onNews = newValue }
  }

  /// Called when the directory was lost, and this process may not make it again; set once by the composition.
  package var onExclusion: () -> Void {
    get { parts.recovery.onExclusion }
    set { parts.recovery.onExclusion = newValue }
  }

  // MARK: Finding

  /// Looks for an image, fresh or not; `then` gets it, or nil, if it cannot be said at once.
  ///
  /// A caller that only brings into memory what has been answered already does not count as a use.
  package func fetch(
    _ key: CacheKey, countsAsUse: Bool = true, then: @escaping (CachedImage?) -> Void
  ) -> Look<CachedImage?> {
    parts.loads.fetch(key, countsAsUse: countsAsUse, then: then)
  }

  /// The answer to a plain request, if it can be given without waiting: the index knows enough of the
  /// entry, it is fresh, and its file is seen to be there.
  ///
  /// Counts as a use when there is one; a caller that gets nil goes on with `fetch`, and is counted
  /// there.
  package func readyHit(
    _ digest: KeyDigest, of url: String, identifier: String?, as form: ReadyHit.Form
  ) -> ReadyHit? {
    parts.hits.find(digest, of: url, identifier: identifier, as: form)
  }

  /// A fresh entry, as far as the index in memory knows it: for pictures that were made of it.
  package func glance(at key: CacheKey, countsAsUse: Bool) -> FreshEntry? {
    parts.hits.glance(at: key, countsAsUse: countsAsUse)
  }

  /// Reads on after a cursor in the order of storing, without counting as a use.
  package func page(
    after cursor: UInt64?, limit: Int, prefix: String?, then: @escaping (EntryPage) -> Void
  ) {
    parts.listings.page(after: cursor, limit: limit, prefix: prefix, then: then)
  }

  /// The details of an entry, without counting as a use.
  package func look(for key: CacheKey, then: @escaping (EntryDetails?) -> Void) {
    parts.listings.look(for: key, then: then)
  }

  /// Whether there may be answers to a name that depend on the request.
  package func mayHaveVariants(of base: CacheKey) -> Bool {
    parts.listings.mayHaveVariants(of: base)
  }

  /// Brings the answers to a name that depend on the request; does not count as a use.
  package func variants(of base: CacheKey, then: @escaping ([Variant]) -> Void) {
    parts.listings.variants(of: base, then: then)
  }

  /// Whether there may be an image under a key, as far as that is known at once; counts as nothing.
  package func mayHold(_ key: CacheKey) -> Bool { parts.loads.mayHold(key) }

  /// When the image under a key was stored that is found under it alone, in seconds since 1970; nil where that
  /// is not known at once.
  package func storedAt(_ key: CacheKey) -> Int64? {
    guard let place = key.digest.flatMap({ parts.index.place(of: $0) }) else { return nil }
    let entry = parts.index[place]
    return entry.base == 0 ? Int64(entry.storedAt) : nil
  }

  // MARK: Storing and lending

  /// Keeps an image, in place of what was there under its key; answers why not.
  @discardableResult
  package func add(_ image: CachedImage) -> PathRefusal? {
    parts.stores.add(image)
  }

  /// Takes over that the origin has confirmed an image that is on disk, or what describes it: its file stays as it
  /// is.
  package func renew(_ image: CachedImage, countsAsUse: Bool = true) {
    parts.renewals.renew(image, countsAsUse: countsAsUse)
  }

  /// Whether an image's own file is there, as far as the index knows.
  package func holds(_ image: CachedImage) -> Bool {
    guard let file = image.file else { return false }
    return parts.files.entry(of: file) != nil
  }

  /// Leases the file of an image, if it is there; an image without a file is written, if it may be.
  package func lend(
    _ image: CachedImage, mayStore: Bool, countsAsUse: Bool = true
  ) -> PathLending {
    parts.lending.lend(image, mayStore: mayStore, countsAsUse: countsAsUse)
  }

  /// Leases the file of an image, if all that takes is known; otherwise nothing is done.
  package func lendAgain(_ image: CachedImage) -> StoredFile? { parts.lending.lendAgain(image) }

  /// Calls back when it is known whether there is a file; only for an image that is waited for.
  package func whenSettled(_ image: CachedImage, _ action: @escaping () -> Void) {
    parts.lending.whenSettled(image, action)
  }

  // MARK: The fleet

  /// Told what the index file says about the fleet, and when it misses something; set once by the composition.
  package var onFleetNotes: (FleetNotes.News) -> Void {
    get { parts.fleet.onNews }
    set { parts.fleet.onNews = newValue }
  }

  /// Writes down the last purge of the fleet that is in force here, behind all that was asked for before.
  package func keepFleetPosition(_ position: FleetPosition) { parts.fleet.keep(position) }

  /// Writes down a purge that the fleet has still to be told of; `then` is told whether that is durable.
  package func keepFleetPurge(_ purge: FleetPurge, then: @escaping (_ isKept: Bool) -> Void) {
    parts.fleet.keep(purge, then: then)
  }

  /// Writes down purges in place of all that were written down before.
  package func keepFleetPurges(
    inPlaceOfAll purges: [FleetPurge], then: @escaping (_ isKept: Bool) -> Void
  ) {
    parts.fleet.keep(inPlaceOfAll: purges, then: then)
  }

  /// Strikes out a purge that the fleet has been told of.
  package func dropFleetPurge(_ nonce: UInt64) { parts.fleet.drop(nonce) }

  // MARK: Removing

  /// Removes the image under a key, if there is one.
  package func remove(_ key: CacheKey) {
    parts.diskPurges.remove(key)
  }

  /// Removes what a purge means, or marks it stale; `then` is told how much when it is durable.
  ///
  /// From this call on nothing that matches is found.
  package func purge(_ row: PurgeList.Row, then: @escaping (PurgeOutcome) -> Void) {
    parts.diskPurges.purge(row.filter, isSoft: row.isSoft, then: then)
  }

  // MARK: Life

  /// Takes new limits, makes room at once where they are lower, and tries again what they forbade.
  package func apply(_ limits: DiskLimits) {
    guard isEnabled else { return }
    let areOthers = parts.rules.replace(by: limits)
    if parts.files.isOpen { parts.size.look() }
    guard areOthers else { return }
    parts.eviction.trim()
    parts.eviction.sweep()
    parts.eviction.makeFree()
    parts.recovery.retryNow()
  }

  /// Lets go of pages that its threads keep at hand, and calls `done` when nothing is being stored
  /// any more: pictures that wait for the disk are in memory until then.
  package func giveBack(then done: @escaping () -> Void) {
    parts.pages.giveBack(then: done)
  }

  /// Closes everything properly; what was asked before is done. Removals that were to make room are
  /// left to the next start, which finds them again.
  package func stop() {
    parts.stores.sendAll()
    parts.fleet.sendAll()
    parts.removals.stop()
    parts.threads.stop(noting: parts.uses.takeUses(), isChecked: parts.check.isDone)
  }

  /// Calls `answered` when the thread that writes comes to its next job; at once without a tier.
  package func askWriterForLife(then answered: @escaping () -> Void) {
    parts.threads.askWriterForLife(then: answered)
  }

  /// Calls `answered` when the thread that reads comes to its next job; at once without a tier.
  package func askReaderForLife(then answered: @escaping () -> Void) {
    parts.threads.askReaderForLife(then: answered)
  }
}
