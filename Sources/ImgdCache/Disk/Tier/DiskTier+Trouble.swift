// What is done when the disk does not do what it should: the tier goes on with what is left of it, and
// tries again by itself, at longer and longer intervals, until it is whole.

import ImgdSystem

extension DiskTier {
  /// How far the tier has come with getting over its last trouble.
  struct Recovery {
    static let firstPause = Duration.seconds(1)
    static let longestPause = Duration.seconds(60)

    /// How long it waits before it tries the next time.
    var pause = firstPause
    /// The next try, while it is waited for.
    var next: Timer?
    /// What stands in the way since the tier last worked.
    var told: String?
    /// That nothing can be written is for want of room.
    var isFull = false
  }

  /// Something could not be done: what is broken is opened anew, at once or later.
  func fail(_ trouble: DiskTrouble) {
    tell(trouble)
    switch trouble.kind {
    case .gone where directory != nil: reopen()
    case .indexLost where directory != nil: reopen(beginningAnew: true)
    case .full, .readOnly, .broken, .gone, .indexLost:
      // Nothing is told of what should have been purged.
      state = directory == nil || !owed.isEmpty ? .off : .readOnly
      recovery.isFull = trouble.kind == .full
      refuseStores()
      retryLater()
    }
  }

  /// Whoever cannot mend it hears of it once, however often it is tried again.
  private func tell(_ trouble: DiskTrouble) {
    guard trouble.reason != recovery.told else { return }
    recovery.told = trouble.reason
    onNews(.trouble(trouble.reason))
  }

  func troubleIsOver() {
    state = .ok
    recovery.pause = Recovery.firstPause
    guard recovery.told != nil else { return }
    recovery.told = nil
    onNews(.recovered)
  }

  func retryLater() {
    guard recovery.next == nil else { return }
    recovery.next = loop.schedule(after: recovery.pause) { [unowned self] in
      recovery.next = nil
      retry()
    }
    recovery.pause = min(recovery.pause * 2, Recovery.longestPause)
  }

  /// Something has changed that may have been in the way.
  func retryNow() {
    guard let waiting = recovery.next.take() else { return }
    waiting.cancel()
    recovery.pause = Recovery.firstPause
    retry()
  }

  private func retry() {
    guard directory != nil else { return reopen() }
    // The room may be taken by our own files, down to where not even the index can be written.
    if recovery.isFull { _ = makeRoom(for: 0) }
    let minFree = limits.minFree
    order(
      { (writer) throws(DiskTrouble) in try writer.probe(keepingFree: minFree) },
      then: { [unowned self] answer in
        guard answer != nil else { return }
        troubleIsOver()
        carryOutOwed()
        doomSome()
        clearRest()
        carryOut()
        sendStores()
      })
  }
}
