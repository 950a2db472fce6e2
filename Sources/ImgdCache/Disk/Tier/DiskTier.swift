// The pictures that are held on disk, within a capacity, as files that others may open.
//
// The control loop has what it takes to find each entry (`DiskIndex`), and decides. The work
// is done by two threads, a writer and a reader, that take jobs as values (`DiskThreads`). Where the
// loop does not know enough, it asks the reader: for the record of an entry, and, while the index is
// still being read after the start, whether there is an entry at all.
//
//   fetch   digest → entry → the reader brings picture and record → an image for the memory tier
//   store   an image → a batch for the writer → an entry
//   lend    an image → its file is looked at, and stays for the time of the lease
//   purge   a filter, in force at once → the writer writes it down and looks for entries, which go
//   trim    above the capacity, the least recently used entries go
//
// Nothing that goes wrong here makes a fetch fail: the tier becomes read-only, or is opened anew, and
// tries by itself to recover.

package import ImgdSystem

/// The pictures on disk; it belongs to the control loop, and has two threads work for it.
package final class DiskTier {
  let parts: DiskParts
  /// Held directly, as each hit by path uses it.
  private let lending: DiskLending

  /// A tier in a directory that has been opened, or that cannot be opened for now.
  ///
  /// In the directory `runtime` it keeps the purges that the disk refuses to keep.
  package convenience init(
    _ directory: Result<DiskDirectory, DirectoryProblem>, path: String, runtime: String?, limits: DiskLimits,
    suffixes: [String], loop: EventLoop, wall: Int64 = WallClock.seconds
  ) throws(SystemFailure) {
    self.init(
      DiskParts(
        try DiskGround(path: path, runtime: runtime, limits: limits, suffixes: suffixes, loop: loop, wall: wall)),
      directory)
  }

  init(_ parts: DiskParts, _ directory: Result<DiskDirectory, DirectoryProblem>) {
    self.parts = parts
    lending = parts.lending
    parts.recovery.begin(directory)
    parts.eviction.scheduleSweep()
  }

  /// A tier that is off: nothing is found, stored or lent.
  package init(offOn loop: EventLoop) {
    parts = DiskParts(DiskGround(offOn: loop))
    lending = parts.lending
  }

  // MARK: Facts

  /// Whether there is a disk tier, even if it cannot be used now.
  package var isEnabled: Bool { state != .off }

  package var limits: DiskLimits { parts.rules.limits }

  /// The purges that hold for both tiers.
  package var purges: PurgeList { parts.ground.purges }

  package var counts: DiskCounts { parts.reports.counts }

  package var state: DiskState { parts.health.state }

  /// Looks whether the directory is still where it was, before the state is reported to somebody.
  package func lookForDirectory() { parts.removals.lookForDirectory() }

  /// What stands in the way, and what would be right; nil if nothing does, and for a tier that is off.
  package var reason: String? { parts.health.reason }
  package var note: String? { parts.health.note }

  package var count: Int { parts.index.count }

  /// How many entries have no file: the bytes of these pictures have gone before their forms.
  package var recordCount: Int { parts.index.recordCount }

  package var allocated: Int { parts.index.allocated }

  /// For whom the entry of a digest counts, as far as the index in memory knows it, how many bytes its picture has, and
  /// how many are charged.
  package func ownership(of digest: KeyDigest) -> (owner: UInt32, bytes: Int, allocated: Int)? {
    guard let place = parts.index.place(of: digest) else { return nil }
    let entry = parts.index[place]
    return entry.owner == EntryOwner.nobody ? nil : (entry.owner, Int(entry.bytes), entry.allocated)
  }

  /// What a user has here.
  package func holding(of uid: UInt32) -> Removal { parts.index.holding(of: uid) }

  /// Bytes of files that have been leased.
  package var lentBytes: Int { parts.leases.bytes }

  package var held: HeldBytes { parts.held }

  /// Whether the index is being read.
  package var isLoading: Bool { (parts.health.isOpening || parts.files.isOpen) && !parts.index.isLoaded }

  /// Whether an index is being opened, so that it will soon be known whether anything can be stored.
  package var isOpening: Bool { parts.health.isOpening }

  /// Called with what was stored and removed, and what went wrong; set once by the composition.
  package var onNews: (DiskNews) -> Void {
    get { parts.reports.onNews }
    set { parts.reports.onNews = newValue }
  }

  /// Called when the directory was lost and this process has no right to make it again; set once by the composition.
  package var onExclusion: () -> Void {
    get { parts.recovery.onExclusion }
    set { parts.recovery.onExclusion = newValue }
  }

  // MARK: Finding

  /// Looks for an image, fresh or not. If the outcome is not known at once, `then` gets the image or nil later.
  ///
  /// `countsAsUse` is false if the caller only brings into memory what has been answered already.
  package func fetch(_ key: CacheKey, countsAsUse: Bool = true, then: @escaping (CachedImage?) -> Void) -> Look<
    CachedImage?
  > { parts.loads.fetch(key, countsAsUse: countsAsUse, then: then) }

  /// The answer to a plain request, if it can be given without waiting: the index has all that is needed of the
  /// entry, it is fresh, it has that owner, where one is named, and its file is known to be there.
  ///
  /// Finding one counts as a hit and as a use; a caller that gets nil goes on with `fetch`, and its request is
  /// counted there.
  package func readyHit(
    _ digest: KeyDigest, of url: String, identifier: String?, as form: ReadyHit.Form, owner: UInt32? = nil
  ) -> ReadyHit? { parts.hits.find(digest, of: url, identifier: identifier, as: form, owner: owner) }

  /// What the index in memory has of a fresh entry, for pictures that were made of it.
  package func glance(at key: CacheKey, countsAsUse: Bool) -> FreshEntry? {
    parts.hits.glance(at: key, countsAsUse: countsAsUse)
  }

  /// The forms of a picture that may be what is looked for, the largest first; this does not count as a use.
  package func forms(
    of key: CacheKey, where mayBe: (ImageFacts) -> Bool, then: @escaping ([StoredFormText]) -> Void
  ) -> Look<[StoredFormText]> { parts.listings.forms(of: key, where: mayBe, then: then) }

  /// Lists entries after a cursor in the order of storing, those whose URL a filter names and has a part, and which may
  /// have its tag; this does not count as a use.
  package func page(
    after cursor: UInt64?, limit: Int, of names: PurgeFilter = PurgeFilter(), containing part: URLPart? = nil,
    then: @escaping (EntryPage) -> Void
  ) { parts.listings.page(after: cursor, limit: limit, of: names, containing: part, then: then) }

  /// Finds the details of an entry; this does not count as a use.
  package func look(for key: CacheKey, then: @escaping (EntryDetails?) -> Void) {
    parts.listings.look(for: key, then: then)
  }

  /// Whether there may be answers to a name that depend on the request.
  package func mayHaveVariants(of base: CacheKey) -> Bool { parts.listings.mayHaveVariants(of: base) }

  /// Finds the answers to a name that depend on the request; this does not count as a use.
  package func variants(of base: CacheKey, then: @escaping ([Variant]) -> Void) {
    parts.listings.variants(of: base, then: then)
  }

  /// Whether there may be an image under a key, as far as that is known at once; this changes no count.
  package func mayHold(_ key: CacheKey) -> Bool { parts.loads.mayHold(key) }

  /// Whether an earlier process may have left images that are this user's alone, under a URL and nothing else.
  package func mayHaveFormer(ofUserAlone uid: UInt32) -> Bool { isLoading || parts.index.formerUsers.contains(uid) }

  /// When the image under a key was stored, in seconds since 1970; nil if that is not known at once, or if the image
  /// is one of several answers to a name.
  package func storedAt(_ key: CacheKey) -> Int64? {
    guard let place = key.digest.flatMap({ parts.index.place(of: $0) }) else { return nil }
    let entry = parts.index[place]
    return entry.base == 0 ? Int64(entry.storedAt) : nil
  }

  /// The image that is being stored under a key.
  package func imageOnItsWay(_ key: CacheKey) -> CachedImage? { parts.stores.image(for: key) }

  // MARK: Storing and lending

  /// Stores an image in place of an earlier one under its key; returns why not, or nil.
  @discardableResult package func add(_ image: CachedImage) -> PathRefusal? { parts.stores.add(image) }

  /// Writes down that the origin has confirmed an image on disk, or that its description has changed; its file stays
  /// as it is.
  package func renew(_ image: CachedImage, countsAsUse: Bool = true) {
    parts.renewals.renew(image, countsAsUse: countsAsUse)
  }

  /// Whether an image's own entry is there, as far as the index knows, with a file or without.
  package func holds(_ image: CachedImage) -> Bool {
    guard let file = image.file else { return false }
    return parts.files.entry(of: file) != nil
  }

  /// Leases the file of an image, if it is there; an image without a file is written, if it may be.
  package func lend(_ image: CachedImage, mayStore: Bool, countsAsUse: Bool = true) -> PathLending {
    parts.lending.lend(image, mayStore: mayStore, countsAsUse: countsAsUse)
  }

  /// Leases the file of an image if everything needed for that is known; otherwise does nothing, and returns false.
  package func lendAgain(_ image: CachedImage) -> Bool { lending.lendAgain(image) }

  /// Calls back when it is known whether there is a file; only for an image for which `lend` returned `waiting`.
  package func whenSettled(_ image: CachedImage, _ action: @escaping () -> Void) {
    parts.lending.whenSettled(image, action)
  }

  // MARK: The fleet

  /// Called with what the index file says about the fleet, and when it lacks something; set once by the composition.
  package var onFleetNotes: (FleetNotes.News) -> Void {
    get { parts.fleet.onNews }
    set { parts.fleet.onNews = newValue }
  }

  /// Writes down the last purge of the fleet that is in force here, after everything that was asked for before.
  package func keepFleetPosition(_ position: FleetPosition) { parts.fleet.keep(position) }

  /// Writes down a purge of which the fleet still has to be told; `then` is told whether that is durable.
  package func keepFleetPurge(_ purge: FleetPurge, then: @escaping (_ isKept: Bool) -> Void) {
    parts.fleet.keep(purge, then: then)
  }

  /// Writes down purges in place of all that were written down before.
  package func keepFleetPurges(inPlaceOfAll purges: [FleetPurge], then: @escaping (_ isKept: Bool) -> Void) {
    parts.fleet.keep(inPlaceOfAll: purges, then: then)
  }

  /// Removes the note of a purge of which the fleet has been told.
  package func dropFleetPurge(_ nonce: UInt64) { parts.fleet.drop(nonce) }

  // MARK: Removing

  /// Removes the image under a key, if there is one.
  package func remove(_ key: CacheKey) { parts.diskPurges.remove(key) }

  /// Removes the image under a key, or marks it stale; `then` gets the outcome when it is durable.
  package func purge(_ key: CacheKey, isSoft: Bool, then: @escaping (PurgeOutcome) -> Void) {
    parts.diskPurges.purge(key, isSoft: isSoft, then: then)
  }

  /// Removes the entries that a purge covers, or marks them stale; `then` gets the outcome when it is durable.
  ///
  /// From this call on, no entry that matches is found; `onMatch` is called for each that is found now.
  package func purge(
    _ row: PurgeList.Row, onMatch: ((KeyDigest) -> Void)? = nil, then: @escaping (PurgeOutcome) -> Void
  ) { parts.diskPurges.purge(row.filter, isSoft: row.isSoft, onMatch: onMatch, then: then) }

  /// Tells when all that was answered as durable outlives the loss of power too, or that the disk has refused that.
  package func sync(then: @escaping (_ isOnDisk: Bool) -> Void) { parts.threads.sync(then: then) }

  // MARK: Life

  /// Takes new limits, makes room at once if they are lower, and tries again what the old ones forbade.
  package func apply(_ limits: DiskLimits) {
    guard isEnabled else { return }
    let areOthers = parts.rules.replace(by: limits)
    if parts.files.isOpen { parts.eviction.lookAtFileSystem() }
    guard areOthers else { return }
    parts.eviction.trim()
    parts.eviction.sweep()
    parts.eviction.makeFree()
    parts.recovery.retryNow()
  }

  /// Frees pages that its threads keep at hand, and calls `done` when nothing is being stored
  /// any more: until then, pictures that wait for the disk take memory.
  package func giveBack(then done: @escaping () -> Void) { parts.giveBack(then: done) }

  /// Closes everything properly, after doing what was asked for before. Removals that make room are
  /// left to the next start, which finds them again.
  package func stop() {
    parts.stores.sendAll()
    parts.fleet.sendAll()
    parts.removals.stop()
    parts.threads.stop(noting: parts.uses.takeUses(), isChecked: parts.check.isDone)
  }

  /// Calls `answered` when the writer comes to its next job; at once for a tier that is off.
  package func askWriterForLife(then answered: @escaping () -> Void) { parts.threads.askWriterForLife(then: answered) }

  /// Calls `answered` when the reader comes to its next job; at once for a tier that is off.
  package func askReaderForLife(then answered: @escaping () -> Void) { parts.threads.askReaderForLife(then: answered) }
}
