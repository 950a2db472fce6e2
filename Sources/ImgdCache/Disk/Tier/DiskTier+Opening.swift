// How the tier comes to its directory and its index: at the start, and again when they were lost.
//
// What is asked between the loss and the new opening waits; what was asked of the old index is not
// answered any more.

import ImgdSystem

extension DiskTier {
  func open(_ directory: DiskDirectory) {
    begin(generation: generation) { (writer) throws(DiskTrouble) in try writer.open(directory) }
  }

  /// Opens what the path leads to now, with an index that knows nothing yet.
  func reopen(beginningAnew: Bool = false) {
    forgetEverything()
    isOpening = true
    let path = self.path
    // The lock goes when nobody holds the directory any more.
    reader?.submit(
      { $0.close() },
      then: { [unowned self, generation] in
        begin(generation: generation) { (writer) throws(DiskTrouble) in
          try writer.reopen(path, beginningAnew: beginningAnew)
        }
      })
  }

  private func begin(
    generation: Int, _ open: @escaping @Sendable (DiskWriter) throws(DiskTrouble) -> DiskOpening
  ) {
    let job: @Sendable (DiskWriter) -> Result<DiskOpening, DiskTrouble> = { writer in
      Result { () throws(DiskTrouble) in try open(writer) }
    }
    // Who asks meanwhile waits, as during a purge.
    purging += 1
    isOpening = true
    writer?.submit(job) { [unowned self] result in
      isOpening = false
      if generation == self.generation {
        switch result {
        case .success(let opening): opened(opening)
        case .failure(let trouble):
          directory = nil
          fail(trouble)
        }
      }
      endPurge()
    }
  }

  private func opened(_ opening: DiskOpening) {
    if let reason = opening.loss { onNews(.trouble("\(reason); it is set aside")) }
    directory = opening.directory
    cleared = opening.cleared
    isInPlace = true
    watch = ShelfWatch(opening.directory)
    sightings += 1
    trustsFiles = opening.wasClean
    troubleIsOver()
    carryOutOwed()
    let directory = opening.directory
    reader?.submit(
      { reader in
        Result { () throws(DiskTrouble) in try reader.open(directory) }
      },
      then: { [unowned self, generation] result in
        guard generation == self.generation else { return }
        if case .failure(let trouble) = result { return fail(trouble) }
        if !isLoaded { gather() }
      })
    if let records = opening.records { finishLoading(with: records) }
    carryOut()
    clearRest()
    isLookedThrough = opening.wasClean
    if !opening.wasClean { lookThrough(shelf: 0) }
    sendStores()
  }

  private func forgetEverything() {
    generation += 1
    index = DiskIndex()
    isLoaded = false
    state = .off
    directory = nil
    watch = nil
    promises = [:]
    renewals = [:]
    cleared = 0
    toDoom = []
    touched = []
    removedWhileLoading = []
    let waiting = loads.values.flatMap(\.self)
    loads = [:]
    for waiter in waiting { waiter.then(nil) }
  }
}
