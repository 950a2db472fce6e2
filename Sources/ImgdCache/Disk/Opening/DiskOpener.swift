// How the tier gets its directory and its index: at the start, and again when they were lost.
//
// Questions between the loss and the new opening wait; questions to the old index are not
// answered any more.

/// Opens the directory and the index, and reports it to everything that works with them.
final class DiskOpener: DiskPart {
  /// Called with what has been opened, before anything goes on; like the others set once by the composition.
  var onOpened: (OpenedDisk) -> Void = { _ in }
  /// Called when nothing could be opened.
  var onFailure: () -> Void = {}
  /// Called when the index in use is given up.
  var onGivenUp: () -> Void = {}

  let ground: DiskGround

  init(_ ground: DiskGround) { self.ground = ground }

  /// Opens the index in a directory.
  func open(_ directory: DiskDirectory) { begin { (writer) throws(DiskTrouble) in try writer.open(directory) } }

  /// Gives up the index in use, and opens what the path leads to now; if `beginningAnew`, with an empty index.
  func reopen(beginningAnew: Bool) {
    giveUp()
    health.beginOpening()
    let path = ground.path
    // The lock is released when nothing holds the directory any more.
    threads.closeReader { [unowned self] in
      begin { (writer) throws(DiskTrouble) in try writer.reopen(path, beginningAnew: beginningAnew) }
    }
  }

  private func begin(_ open: @escaping @Sendable (DiskWriter) throws(DiskTrouble) -> OpenedDisk) {
    // Questions wait until the gate is opened.
    gate.close()
    health.beginOpening()
    threads.open(open) { [unowned self] result in
      health.endOpening()
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
    if let reason = opened.loss { reports.onNews(.trouble("\(reason); it is set aside")) }
    files.enter(opened.directory)
    index.begin(cleared: opened.cleared)
    onOpened(opened)
  }

  private func giveUp() {
    threads.supersede()
    threads.letGo(of: index.takeAll())
    index.begin()
    health.worsen(to: .down)
    files.leave()
    onGivenUp()
  }
}
