// How the tier gets its directory and its index: at the start, and again when they were lost.
//
// Questions between the loss and the new opening wait; questions to the old index are not answered any more.

import ImgdSystem

/// Opens the directory and the index, and reports it to everything that works with them.
final class DiskOpener: DiskPart {
  /// Called with what has been opened, before anything goes on; like the others set once by the composition.
  var onOpened: (OpenedDisk) -> Void = { _ in }
  var onFailure: () -> Void = {}
  var onGivenUp: () -> Void = {}
  /// The directory that this process had last, and the file system of the first.
  private var last: [FileStatus.Identity]?
  private var device: UInt64?

  func open(_ directory: DiskDirectory) { begin { (writer) throws(DiskTrouble) in try writer.open(directory) } }

  /// Gives up the index in use, and opens what the path leads to now; if `beginningAnew`, with an empty index.
  func reopen(beginningAnew: Bool) {
    threads.supersede()
    threads.letGo(of: index.takeAll())
    index.begin()
    health.worsen(to: .down)
    files.leave()
    onGivenUp()
    health.isOpening = true
    let path = ground.path
    // The lock is released when nothing holds the directory any more. By then the next try may have begun.
    threads.closeReader { [unowned self, generation = threads.generation] in
      guard generation == threads.generation else { return }
      begin { (writer) throws(DiskTrouble) in try writer.reopen(path, beginningAnew: beginningAnew) }
    }
  }

  private func begin(_ open: @escaping @Sendable (DiskWriter) throws(DiskTrouble) -> OpenedDisk) {
    gate.close()
    health.isOpening = true
    threads.open(open) { [unowned self] result in
      health.isOpening = false
      switch result {
      case .success(let opened): enter(opened)
      case .failure(let trouble):
        files.leave()
        threads.report(trouble)
        onFailure()
      case nil: break
      }
      gate.open()
    }
  }

  private func enter(_ opened: OpenedDisk) {
    var opened = opened
    opened.isAnother = last.map { $0 != opened.directory.identities } ?? false
    last = opened.directory.identities
    noteFileSystem(of: opened.directory)
    if let reason = opened.loss { reports.onNews(.trouble(reason)) }
    files.enter(opened.directory)
    index.begin(cleared: opened.cleared)
    onOpened(opened)
  }
}

extension DiskOpener {
  /// After a file system was unmounted everything works, but on one that may not be meant for it.
  private func noteFileSystem(of directory: DiskDirectory) {
    let now = directory.identities.first?.device
    device = device ?? now
    let note = device == now ? nil : "it lies on another file system than at the start"
    if let note, health.note == nil { reports.onNews(.trouble("\(directory.path): \(note)")) }
    health.note = note
  }
}

/// Reads the index into memory while the daemon serves: part by part, so that a client's picture never has to
/// wait long for the reader.
final class IndexLoading: DiskPart {
  private static let gatheredAtOnce = 16_384
  /// How many entries the loop takes in within a tick, in a fraction of a millisecond.
  private static let takenAtOnce = 512

  private let loads: DiskLoads
  private let eviction: DiskEviction

  init(_ ground: DiskGround, loads: DiskLoads, eviction: DiskEviction) {
    self.loads = loads
    self.eviction = eviction
    super.init(ground)
  }

  func begin(in directory: DiskDirectory) {
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.open(directory) },
      then: { [unowned self] in if !index.isLoaded { gather() } })
  }

  private func gather() {
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.gather(Self.gatheredAtOnce) },
      then: { [unowned self] isComplete in
        guard !index.isLoaded else { return }
        if isComplete { takeInEntries() } else { gather() }
      })
  }

  private func takeInEntries() {
    threads.ask(
      { (reader) throws(DiskTrouble) in reader.takeEntries(Self.takenAtOnce) },
      then: { [unowned self] part in
        guard !index.isLoaded else { return }
        guard !part.isLast else { return finish(with: part.entries) }
        for entry in part.entries { loads.takeIn(entry) }
        takeInEntries()
      })
  }

  func finish(with entries: [DiskEntry]) {
    for entry in entries { loads.takeIn(entry) }
    index.finishLoading()
    eviction.trim()
  }
}

// What the tier does when the disk does not do what it should: it goes on with what still works, and
// tries again by itself, at longer and longer intervals, until everything works.

final class DiskRecovery: DiskPart {
  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(10)

  private let opener: DiskOpener
  private let stores: DiskStores
  private let fleet: StoredFleetNotes
  private let removals: DiskRemovals
  private let eviction: DiskEviction
  /// The pause before the try after the next one.
  private var pause = firstPause
  private var next: Timer?
  private var hadDirectory = false
  /// Called when the directory was lost and this process has no right to make it again.
  var onExclusion: () -> Void = {}

  init(
    _ ground: DiskGround, opener: DiskOpener, stores: DiskStores, fleet: StoredFleetNotes, removals: DiskRemovals,
    eviction: DiskEviction
  ) {
    self.opener = opener
    self.stores = stores
    self.fleet = fleet
    self.removals = removals
    self.eviction = eviction
    super.init(ground)
  }

  func begin(_ directory: Result<DiskDirectory, DirectoryProblem>) {
    switch directory {
    case .success(let directory): opener.open(directory)
    case .failure(let problem):
      // It has been reported already.
      health.reason = problem.description
      retryLater()
    }
  }

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
