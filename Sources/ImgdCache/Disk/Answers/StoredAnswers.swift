internal import ImgdSystem

/// Rows for remembered answers, so that they outlive the process: written in batches, like pictures.
///
/// The memory tier of answers is the whole truth: it says what is written and what goes. A purge of the
/// disk tier comes after the removals that were asked for before it: when it is told of, they are durable.
final class StoredAnswers {
  /// Records that wait for a slow disk are held in memory: so many bytes, and no more.
  private static let mostWaiting = 8 << 20

  private let loading: AnswerLoading
  private let threads: DiskThreads
  private let health: DiskHealth
  private let rules: DiskRules
  private let loop: EventLoop
  private var changes = AnswerChanges()
  /// Changes that the writer has not answered, and the bytes that they hold.
  private var (inFlight, bytesInFlight) = (0, 0)
  private var isScheduled = false

  init(_ threads: DiskThreads, _ health: DiskHealth, _ rules: DiskRules, loop: EventLoop) {
    loading = AnswerLoading(threads, rules, loop: loop)
    self.threads = threads
    self.health = health
    self.rules = rules
    self.loop = loop
    loading.onReading = { [unowned self] in sendAll() }
  }

  var onAnswers: ([CachedImage]) -> Void {
    get { loading.onAnswers }
    set { loading.onAnswers = newValue }
  }

  /// Whether there may be rows that have not been read since the start.
  var hasUnread: Bool { health.isOpening || loading.isUnderWay }

  /// The memory that it takes, roughly.
  var heldBytes: Int { changes.heldBytes + bytesInFlight + loading.heldBytes }

  // MARK: Changes

  /// Has an answer written in place of what was there under its key. One that cannot be written has no
  /// row: an older one would come back in its place.
  func keep(_ image: CachedImage) {
    guard let digest = image.digest else { return }
    loading.note(digest)
    if mayKeep(image), let record = StoredRecord(image, wall: rules.wall, at: loop.now) {
      changes.keep(record)
    } else {
      changes.drop(digest)
    }
    sendLater()
  }

  private var mayWrite: Bool { health.state == .ok || health.isOpening }

  private func mayKeep(_ image: CachedImage) -> Bool {
    mayWrite && !image.isPurged && image.byteCount == 0 && heldBytes < Self.mostWaiting
  }

  func drop(_ digests: [KeyDigest]) {
    for digest in digests {
      loading.note(digest)
      changes.drop(digest)
    }
    sendLater()
  }

  func dropAll() {
    loading.noteAll()
    changes.dropAll()
    sendLater()
  }

  /// Has all changes go before the purge, and what it means of the rows that have not been read yet.
  func purge(_ filter: PurgeFilter, isSoft: Bool) {
    sendAll()
    if filter.digest == nil { loading.purge(filter, isSoft: isSoft) }
  }

  // MARK: Sending

  /// At the end of the tick, so that what comes together is written together.
  private func sendLater() {
    guard !isScheduled else { return }
    isScheduled = true
    loop.atTickEnd { [unowned self] in
      isScheduled = false
      // What comes meanwhile goes with the next commit.
      if inFlight == 0 { sendAll() }
    }
  }

  /// Sends everything, for a job that has to come after it.
  func sendAll() {
    guard !changes.isEmpty else { return }
    let (batch, bytes) = (changes, changes.heldBytes)
    changes = AnswerChanges()
    inFlight += 1
    bytesInFlight += bytes
    threads.change(batch, trying: mayWrite) { [unowned self] in
      inFlight -= 1
      bytesInFlight -= bytes
      if inFlight == 0 { sendAll() }
    }
  }

  // MARK: Life

  /// Begins to read an index that has been opened, from which purges still have to take something.
  func begin(after orders: [RemovalOrder]) { loading.begin(after: orders) }

  /// Goes on after the disk has refused something.
  func resume() { loading.goOn() }

  /// The index is given up.
  func supersede() { loading.end() }
}
