// How the tier comes to its directory and its index: at the start, and again when they were lost.
//
// Questions between the loss and the new opening wait; what was asked of the old index is not
// answered any more.

/// Opens the directory and the index, and hands them to everything that works with them.
final class DiskOpener {
  private let path: String
  private let parts: Parts

  /// Everything that begins anew with an index.
  struct Parts {
    let index: DiskIndex
    let files: DiskFiles
    let verified: VerifiedFiles
    let leases: FileLeases
    let uses: UseLog
    let renewals: DiskRenewals
    let loads: DiskLoads
    let loading: IndexLoading
    let stores: DiskStores
    let fleet: StoredFleetNotes
    let removals: DiskRemovals
    let size: FileSystemSize
    let check: DirectoryCheck
    let threads: DiskThreads
    let gate: DiskGate
    let health: DiskHealth
    let reports: DiskReports
  }

  init(_ parts: Parts, path: String) {
    self.parts = parts
    self.path = path
  }

  /// Opens the index in a directory; `succeeded` is called before anything goes on.
  func open(_ directory: DiskDirectory, succeeded: @escaping () -> Void) {
    begin(
      { (writer) throws(DiskTrouble) in try writer.open(directory) }, succeeded: succeeded)
  }

  /// Opens what the path leads to now, with an index that knows nothing yet.
  func reopen(beginningAnew: Bool, succeeded: @escaping () -> Void) {
    forgetEverything()
    parts.health.beginOpening()
    let path = self.path
    // The lock goes when nothing holds the directory any more.
    parts.threads.closeReader { [unowned self] in
      begin(
        { (writer) throws(DiskTrouble) in
          try writer.reopen(path, beginningAnew: beginningAnew)
        }, succeeded: succeeded)
    }
  }

  private func begin(
    _ open: @escaping @Sendable (DiskWriter) throws(DiskTrouble) -> OpenedDisk,
    succeeded: @escaping () -> Void
  ) {
    // Questions wait.
    parts.gate.close()
    parts.health.beginOpening()
    parts.threads.open(open) { [unowned self] result in
      parts.health.endOpening()
      switch result {
      case .success(let opened):
        enter(opened)
        succeeded()
        work(on: opened)
      case .failure(let trouble):
        parts.files.leave()
        parts.threads.report(trouble)
        parts.fleet.fail()
      case nil: break
      }
      parts.gate.open()
    }
  }

  private func enter(_ opened: OpenedDisk) {
    if let reason = opened.loss {
      parts.reports.onNews(.trouble("\(reason); it is set aside"))
    }
    parts.files.enter(opened.directory)
    parts.index.begin(cleared: opened.cleared)
    parts.verified.begin(opened.directory)
    parts.health.recover()
  }

  /// Purges come first: nothing that they mean is told of meanwhile.
  private func work(on opened: OpenedDisk) {
    parts.removals.adopt(opened.removals)
    parts.removals.resume()
    openReader(opened.directory)
    // Purges that they lead to come behind those that the file has.
    parts.fleet.begin(with: opened.fleet)
    parts.size.look()
    if let entries = opened.entries { parts.loading.finish(with: entries) }
    parts.check.begin(wasClean: opened.wasClean)
    parts.stores.send()
  }

  private func openReader(_ directory: DiskDirectory) {
    parts.threads.ask(
      { (reader) throws(DiskTrouble) in try reader.open(directory) },
      then: { [unowned self] in
        if !parts.index.isLoaded { parts.loading.begin() }
      })
  }

  private func forgetEverything() {
    parts.threads.supersede()
    parts.threads.letGo(of: parts.index.takeAll())
    parts.index.begin()
    parts.health.worsen(to: .down)
    parts.files.leave()
    parts.verified.end()
    parts.leases.forget()
    parts.renewals.forget()
    parts.uses.forget()
    parts.removals.supersede()
    parts.loads.cancel()
  }
}
