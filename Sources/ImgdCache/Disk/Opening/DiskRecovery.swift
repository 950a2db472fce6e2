// What the tier does when the disk does not do what it should: it goes on with what still works, and
// tries again by itself, at longer and longer intervals, until everything works.

import ImgdSystem

/// Gets the tier over trouble.
final class DiskRecovery: DiskPart {
  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(10)

  let ground: DiskGround
  private let opener: DiskOpener
  private let stores: DiskStores
  private let fleet: StoredFleetNotes
  private let removals: DiskRemovals
  private let eviction: DiskEviction
  /// The pause before the try after the next one.
  private var pause = firstPause
  /// The timer of the next try; nil when none is planned.
  private var next: Timer?
  /// Whether there has been a directory in the life of this process.
  private var hadDirectory = false
  /// Called when the directory was lost and this process has no right to make it again.
  var onExclusion: () -> Void = {}

  init(
    _ ground: DiskGround, opener: DiskOpener, stores: DiskStores, fleet: StoredFleetNotes, removals: DiskRemovals,
    eviction: DiskEviction
  ) {
    self.ground = ground
    self.opener = opener
    self.stores = stores
    self.fleet = fleet
    self.removals = removals
    self.eviction = eviction
  }

  /// Begins with a directory that has been opened, or tries again later.
  func begin(_ directory: Result<DiskDirectory, DirectoryProblem>) {
    switch directory {
    case .success(let directory): opener.open(directory)
    case .failure(let problem):
      health.begin(with: problem.description)
      retryLater()
    }
  }

  /// Notes that there is a directory again.
  func noteOpening() {
    pause = Self.firstPause
    hadDirectory = true
  }

  /// Reacts to something that could not be done: what is broken is opened again, at once or later.
  func react(to trouble: DiskTrouble) {
    health.tell(trouble)
    switch trouble.kind {
    case .gone where files.isOpen: reopen()
    case .indexLost where files.isOpen: reopen(beginningAnew: true)
    case .full, .readOnly, .broken, .gone, .indexLost, .excluded:
      // While purges wait for the disk, nothing may be shown that they may cover.
      let isDown = !files.isOpen || removals.isOwing
      health.worsen(to: isDown ? .down : .readOnly, isFull: trouble.kind == .full)
      stores.refuseAll()
      retryLater()
      if trouble.kind == .excluded, hadDirectory { onExclusion() }
    }
  }

  /// Tries again at once, because something has changed that may have been in the way.
  func retryNow() {
    guard let waiting = next.take() else { return }
    waiting.cancel()
    pause = Self.firstPause
    retry()
  }

  /// Tries again if room was lacking: files have gone, so there may be some.
  func retryIfFull() { if health.isFull { retryNow() } }

  /// Gives the index up and opens what the path leads to.
  func reopen(beginningAnew: Bool = false) { opener.reopen(beginningAnew: beginningAnew) }

  private func retryLater() {
    guard next == nil else { return }
    next = loop.schedule(after: pause) { [unowned self] in
      next = nil
      retry()
    }
    pause = min(pause * 2, Self.longestPause)
  }

  private func retry() {
    guard files.isOpen else { return reopen() }
    // Our own files may have taken the room, so that not even the index can be written.
    if health.isFull { _ = eviction.makeRoom(for: 0) }
    let minFree = rules.limits.minFree
    threads.order(
      { (disk) throws(DiskTrouble) in try disk.probe(keepingFree: minFree) },
      then: { [unowned self] answer in
        guard answer != nil else { return }
        pause = Self.firstPause
        health.recover()
        removals.resume()
        stores.send()
        fleet.resume()
      })
  }
}
