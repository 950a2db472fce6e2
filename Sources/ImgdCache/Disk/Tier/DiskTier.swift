// The pictures that are held on disk, within a capacity, as files that others may open.
//
// The control loop knows of each entry what it takes to find it (`DiskIndex`), and decides. The work
// is done by two threads, a writer and a reader, that take orders as values (`Workshop`). What the
// loop does not know is asked of the reader: the rest of an entry, and, while the index is still
// being read after the start, whether there is an entry at all.
//
//   fetch   digest → entry → the reader brings picture and row → an image for the memory tier
//   store   an image → a batch for the writer → an entry
//   lend    an image → its file is looked at, and stays for the time of the lease
//   purge   a filter → the writer finds and removes in one commit; who asks meanwhile waits
//   trim    above the capacity, what was not used for longest goes
//
// Nothing that goes wrong here fails a fetch: the tier becomes read-only, or is opened anew, and
// tries by itself to become whole again.

package import ImgdSystem

/// The pictures on disk; it belongs to the control loop, and has two threads work for it.
package final class DiskTier {
  /// What the tier can do now, as `stats` says it.
  package enum State: String, Sendable {
    case ok
    case readOnly = "read-only"
    case off
  }

  package private(set) var limits: Limits
  package internal(set) var counts = Counts()
  package internal(set) var state = State.off
  /// Whether all entries of the index file are known in memory.
  package internal(set) var isLoaded = false
  /// Told what was stored and removed, and what went wrong; set once by the composition.
  package var onNews: (DiskNews) -> Void = { _ in }

  let loop: EventLoop
  let writer: Workshop<DiskWriter>?
  let reader: Workshop<DiskReader>?
  /// The endings of file names, by the number of the format.
  let suffixes: [String]
  let path: String
  private let wallAtStart: Int64
  private let startedAt: Instant

  var directory: DiskDirectory?
  /// Whether paths still lead to it.
  var isInPlace = true
  /// Every file is known to have its row; not before all have been looked at after an unclean stop.
  var isLookedThrough = false
  var index = DiskIndex()
  /// Changes with every index: what was asked of an earlier one is not answered any more.
  var generation = 0
  /// A stop was not clean: bytes are compared with their checksum before they are used.
  var trustsFiles = true

  var loads: [KeyDigest: [Waiter]] = [:]
  /// Keys that were removed while the index was still being read.
  var removedWhileLoading: Set<UInt32> = []
  var stores = DiskStores()
  /// Images whose rows are being written anew, by the numbers of their entries.
  var renewals: [UInt32: CachedImage] = [:]
  /// Purges that have still to find what they mean, and those that have still to remove it.
  var seeking: [PurgeTask] = []
  var clearing: [PurgeTask] = []
  /// Purges of everything that do not know yet what was stored last before them.
  var unbounded: [PurgeTask] = []
  /// How many others have to wait for.
  var purging = 0
  /// Entries of the index file up to this number are gone.
  var cleared: UInt32 = 0
  var isClearingRest = false
  /// Purges that could not be written.
  var owed: [OwedPurge] = []
  /// It will be known soon whether anything can be stored.
  package internal(set) var isOpening = false
  var afterPurge: [() -> Void] = []
  /// By the numbers of entries.
  var promises: [UInt32: Promise] = [:]
  /// How many were not over when the others were last forgotten.
  var promisesKept = 0
  var carryingOut: Timer?
  var isCarryingOut = false
  /// Entries that are out of the index, and whose rows and files have still to go.
  var toDoom: [UInt32] = []
  var isDooming = false
  /// More has to go than was taken out in one tick.
  var isTrimming = false
  var touched: [(place: Int, number: UInt32)] = []
  /// What can be done without is being let go of.
  var isGivingBack = false
  var watch: ShelfWatch?
  /// Files that were seen in an earlier count than this have to be looked at again.
  var sightings: UInt32 = 1
  var heardAt: Instant?
  /// Files that are being looked at, and who waits for that.
  var looks: [UInt32: [() -> Void]] = [:]
  var recovery = Recovery()

  /// How long what is known of last uses may be lost by a crash.
  private static let recencyDelay = Duration.seconds(10)

  /// A tier in a directory that has been opened, or that cannot be opened for now.
  package init(
    _ directory: DiskDirectory?, path: String, limits: Limits, suffixes: [String],
    loop: EventLoop, wall: Int64 = WallClock.seconds
  ) throws(SystemFailure) {
    self.limits = limits
    self.loop = loop
    self.path = path
    self.suffixes = suffixes
    wallAtStart = wall
    startedAt = loop.now
    writer = try Workshop(name: "imgd-disk", home: loop) { DiskWriter() }
    reader = try Workshop(name: "imgd-reader", home: loop) { DiskReader() }
    self.directory = directory
    if let directory { open(directory) } else { retryLater() }
    scheduleSweep()
  }

  /// No tier: nothing is found, stored or lent.
  package init(offOn loop: EventLoop) {
    limits = Limits(
      capacity: 0, trimToPercent: 100, maxAge: nil, minFree: .bytes(0), lease: .zero)
    self.loop = loop
    path = ""
    suffixes = []
    wallAtStart = WallClock.seconds
    startedAt = loop.now
    writer = nil
    reader = nil
  }

  /// Whether there will ever be anything here.
  package var isEnabled: Bool { writer != nil }

  /// Whether the index is being read.
  package var isLoading: Bool { isEnabled && (isOpening || directory != nil) && !isLoaded }

  package var count: Int { index.count }
  package var allocated: Int { index.allocated }

  /// Wall time by the monotonic clock: a clock that is set makes no entry younger or older.
  var wall: Int64 { wallAtStart + (loop.now - startedAt).nanoseconds / 1_000_000_000 }

  /// Takes new limits, makes room at once where they are lower, and tries again what they forbade.
  package func apply(_ limits: Limits) {
    guard isEnabled else { return }
    let isNew = limits != self.limits
    self.limits = limits
    guard isNew else { return }
    trim()
    sweep()
    makeFree()
    retryNow()
  }

  /// Closes everything in order; what was asked before is done. What was to make room is left to the
  /// next start, which finds it again.
  package func stop() {
    sendAllStores()
    finishPurges()
    let uses = takeUses()
    // The last one to close it carries the log over into the index.
    reader?.submit({ $0.close() })
    reader?.stop()
    let isLookedThrough = self.isLookedThrough
    writer?.submit({ $0.close(uses, isLookedThrough: isLookedThrough) })
    writer?.stop()
  }

  // MARK: Work for the threads

  /// Asks the reader, unless what it is asked about has been replaced meanwhile.
  func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (DiskReader) throws(DiskTrouble) -> Answer,
    orElse failed: @escaping () -> Void = {}, then: @escaping (Answer) -> Void
  ) {
    let job: @Sendable (DiskReader) -> Result<Answer, DiskTrouble> = { reader in
      Result { () throws(DiskTrouble) in try question(reader) }
    }
    reader?.submit(job) { [unowned self, generation] result in
      guard generation == self.generation else { return failed() }
      switch result {
      case .success(let answer): then(answer)
      case .failure(let trouble):
        fail(trouble)
        failed()
      }
    }
  }

  /// Tells the writer to do something; trouble is dealt with.
  func order<Answer: Sendable>(
    _ job: @escaping @Sendable (DiskWriter) throws(DiskTrouble) -> Answer,
    then: @escaping (Answer?) -> Void = { _ in }
  ) {
    let work: @Sendable (DiskWriter) -> Result<Answer, DiskTrouble> = { writer in
      Result { () throws(DiskTrouble) in try job(writer) }
    }
    writer?.submit(work) { [unowned self, generation] result in
      guard generation == self.generation else { return then(nil) }
      switch result {
      case .success(let answer): then(answer)
      case .failure(let trouble):
        fail(trouble)
        then(nil)
      }
    }
  }

  // MARK: Recency

  func touch(_ place: Int) {
    index.touch(place)
    index[place].lastAccess = UInt32(clamping: wall)
    guard !index[place].isTouched else { return }
    index[place].isTouched = true
    if touched.isEmpty {
      loop.schedule(after: Self.recencyDelay) { [unowned self] in writeUses() }
    }
    touched.append((place, index[place].number))
  }

  private static let mostUsesAtOnce = 4_096

  func writeUses() {
    var uses = takeUses()[...]
    while !uses.isEmpty {
      let part = Array(uses.prefix(Self.mostUsesAtOnce))
      uses = uses.dropFirst(part.count)
      order { (writer) throws(DiskTrouble) in try writer.note(part) }
    }
  }

  /// The uses that the index file does not know of.
  func takeUses() -> [(number: UInt32, at: Int64)] {
    defer { touched = [] }
    return touched.compactMap { place, number in
      guard let entry = index.entry(at: place, number: number) else { return nil }
      index[place].isTouched = false
      return (number, Int64(entry.lastAccess))
    }
  }
}
