internal import ImgdSystem

extension DiskTier {
  func open(_ directory: DiskDirectory) {
    begin(generation: generation) { (writer) throws(DiskTrouble) in try writer.open(directory) }
  }

  /// Opens what the path leads to now, with an index that knows nothing yet.
  ///
  /// An index in which something is wrong may look right when it is opened: it is set aside.
  func reopen(settingIndexAside isLost: Bool = false) {
    forgetEverything()
    let path = self.path
    // The lock goes when nobody holds the directory any more.
    reader?.submit(
      { $0.close() },
      then: { [unowned self, generation] in
        begin(generation: generation) { (writer) throws(DiskTrouble) in
          try writer.reopen(path, settingIndexAside: isLost)
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
    writer?.submit(job) { [unowned self] result in
      if generation == self.generation {
        switch result {
        case .success(let opening): opened(opening)
        case .failure(let trouble): fail(trouble)
        }
      }
      endPurge()
    }
  }

  private func opened(_ opening: DiskOpening) {
    directory = opening.directory
    trustsFiles = opening.wasClean
    retryPause = Self.firstRetryPause
    state = .ok
    let directory = opening.directory
    reader?.submit(
      { reader in
        Result { () throws(DiskTrouble) in try reader.open(directory) }
      },
      then: { [unowned self, generation] result in
        guard generation == self.generation else { return }
        if case .failure(let trouble) = result { return fail(trouble) }
        gather()
      })
    carryOut()
    if !opening.wasClean { lookThrough(shelf: 0) }
    sendStores()
  }

  private func forgetEverything() {
    generation += 1
    index = DiskIndex()
    isLoaded = false
    state = .off
    directory = nil
    leases = [:]
    touched = []
    removedWhileLoading = []
    let waiting = loads.values.flatMap(\.self)
    loads = [:]
    for answer in waiting { answer(nil) }
  }

  // MARK: Reading the index at the start

  private static let gatheredAtOnce = 16_384
  private static let takenAtOnce = 4_096

  func gather() {
    ask(
      { (reader) throws(DiskTrouble) in try reader.gather(Self.gatheredAtOnce) },
      then: { [unowned self] isComplete in
        guard !isLoaded else { return }
        if isComplete { takeRecords() } else { gather() }
      })
  }

  private func takeRecords() {
    ask(
      { (reader) throws(DiskTrouble) in reader.takeRecords(Self.takenAtOnce) },
      then: { [unowned self] part in
        guard !isLoaded else { return }
        for record in part.records { takeIn(record) }
        guard part.isLast else { return takeRecords() }
        isLoaded = true
        removedWhileLoading = []
        trim()
      })
  }

  /// An entry of the index file; one that is known already is newer.
  @discardableResult
  func takeIn(_ record: IndexRecord) -> Int? {
    let digest = KeyDigest(high: record.digestHigh, low: record.digestLow)
    if let place = index.place(of: digest) { return place }
    guard !removedWhileLoading.contains(record.number) else { return nil }
    guard suffixes.indices.contains(Int(record.format)) else {
      refuse(record)
      return nil
    }
    return index.insert(DiskEntry(record, isTrusted: trustsFiles), asNewest: false)
  }

  /// Whoever knows more formats has written it; nobody here can say what its bytes are.
  private func refuse(_ record: IndexRecord) {
    removedWhileLoading.insert(record.number)
    let wall = self.wall
    order { (writer) throws(DiskTrouble) in
      try writer.doom([record.number], leases: [:], at: wall)
    }
  }
}
