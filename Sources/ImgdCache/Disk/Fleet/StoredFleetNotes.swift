/// The notes about the fleet on their way to the index file.
///
/// Changes that come while the writer is busy with earlier ones go with the next commit, so that a thousand purges
/// do not cost a thousand commits. What the disk refuses is not held: the owner of the notes is told when the disk
/// works again, and stores all of them anew.
final class StoredFleetNotes: DiskPart {
  /// How many changes may wait for a slow disk; with more, they are dropped and all notes are written again later.
  private static let mostWaiting = 20_480

  /// Set once by the composition of the daemon.
  var onNews: (FleetNotes.News) -> Void = { _ in }

  let ground: DiskGround
  private var changes = FleetChanges()
  /// Told whether the purges among the changes have been written.
  private var waiting: [(Bool) -> Void] = []
  private var (inFlight, bytesInFlight) = (0, 0)
  /// Whether something was not written.
  private var isBehind = false

  init(_ ground: DiskGround) { self.ground = ground }

  /// The memory that they take, roughly.
  var heldBytes: Int { changes.heldBytes + bytesInFlight }

  // MARK: Changes

  func keep(_ position: FleetPosition) {
    changes.keep(position)
    send()
  }

  func keep(_ purge: FleetPurge, then: @escaping (Bool) -> Void) {
    changes.keep(purge)
    waiting.append(then)
    send()
  }

  /// Keeps purges in place of all that were kept before.
  func keep(inPlaceOfAll purges: [FleetPurge], then: @escaping (Bool) -> Void) {
    changes.dropAll()
    for purge in purges { changes.keep(purge) }
    waiting.append(then)
    send()
  }

  func drop(_ nonce: UInt64) {
    changes.drop(nonce)
    send()
  }

  // MARK: Sending

  private var mayWrite: Bool { health.state == .ok || health.isOpening }

  private func send() {
    guard mayWrite, changes.count <= Self.mostWaiting else { return giveUp() }
    // Changes that come meanwhile go with the next commit.
    if inFlight == 0 { sendAll() }
  }

  private func giveUp() {
    (changes, isBehind) = (FleetChanges(), true)
    tell(takeWaiting(), false)
  }

  /// Sends all changes at once, for a job that has to come after them.
  func sendAll() {
    guard !changes.isEmpty else { return }
    let (batch, told) = (changes, takeWaiting())
    changes = FleetChanges()
    inFlight += 1
    bytesInFlight += batch.heldBytes
    threads.order(
      { (disk) throws(DiskTrouble) in
        try disk.commit { index throws(IndexProblem) in try batch.carryOut(in: index.fleet) }
      },
      then: { [unowned self] done in
        inFlight -= 1
        bytesInFlight -= batch.heldBytes
        if done == nil { isBehind = true }
        tell(told, done != nil)
        if inFlight == 0 { goOn(isRefused: done == nil) }
      })
  }

  private func goOn(isRefused: Bool) { if isBehind, !isRefused { catchUp() } else { send() } }

  private func takeWaiting() -> [(Bool) -> Void] {
    defer { waiting = [] }
    return waiting
  }

  private func tell(_ waiting: [(Bool) -> Void], _ isKept: Bool) { for then in waiting { then(isKept) } }

  // MARK: Life

  /// Begins with an index that has been opened.
  func begin(with notes: FleetNotes) {
    isBehind = false
    onNews(.read(notes))
  }

  /// Reports that no index could be opened.
  func fail() { onNews(.unreadable) }

  /// Goes on after the disk has refused something.
  func resume() { if isBehind, inFlight == 0 { catchUp() } }

  private func catchUp() {
    isBehind = false
    onNews(.incomplete)
  }
}
