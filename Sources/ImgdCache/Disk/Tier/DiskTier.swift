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

package final class DiskTier {
  package enum State: String, Sendable {
    case ok
    case readOnly = "read-only"
    case off
  }

  package internal(set) var limits: Limits
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
  var index = DiskIndex()
  /// Changes with every index: what was asked of an earlier one is not answered any more.
  var generation = 0
  /// A stop was not clean: bytes are compared with their checksum before they are used.
  var trustsFiles = true

  var loads: [KeyDigest: [(CachedImage?) -> Void]] = [:]
  /// Keys that were removed while the index was still being read.
  var removedWhileLoading: Set<UInt32> = []
  var stores = DiskStores()
  var purging = 0
  var afterPurge: [() -> Void] = []
  var leases: [UInt32: Int64] = [:]
  var carryingOut: Timer?
  var touched: [(place: Int, number: UInt32)] = []
  var retryPause = firstRetryPause
  var isRetrying = false
  /// That nothing can be written is for want of room.
  var isFull = false

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
  package var isLoading: Bool { isEnabled && directory != nil && !isLoaded }

  package var count: Int { index.count }
  package var allocated: Int { index.allocated }

  /// Wall time by the monotonic clock: a clock that is set makes no entry younger or older.
  var wall: Int64 { wallAtStart + (loop.now - startedAt).nanoseconds / 1_000_000_000 }

  package func apply(_ limits: Limits) {
    guard isEnabled else { return }
    self.limits = limits
    trim()
  }

  /// Closes everything in order; what was asked before is done.
  package func stop() {
    let uses = takeUses()
    writer?.submit({ $0.close(uses) })
    reader?.submit({ $0.close() })
    writer?.stop()
    reader?.stop()
  }

  // MARK: Orders and questions

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
}
