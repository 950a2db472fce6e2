/// Reads the index into memory while the daemon serves: part by part, so that a picture that a client
/// waits for is never far behind.
final class IndexLoading {
  private static let gatheredAtOnce = 16_384
  /// What the loop takes in within a tick: a fraction of a millisecond.
  private static let takenAtOnce = 512

  private let index: DiskIndex
  private let loads: DiskLoads
  private let threads: DiskThreads
  private let eviction: DiskEviction

  init(
    _ index: DiskIndex, _ loads: DiskLoads, _ threads: DiskThreads, _ eviction: DiskEviction
  ) {
    self.index = index
    self.loads = loads
    self.threads = threads
    self.eviction = eviction
  }

  /// Has the reader gather all entries, and takes them in.
  func begin() {
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.gather(Self.gatheredAtOnce) },
      then: { [unowned self] isComplete in
        guard !index.isLoaded else { return }
        if isComplete { take() } else { begin() }
      })
  }

  private func take() {
    threads.ask(
      { (reader) throws(DiskTrouble) in reader.takeEntries(Self.takenAtOnce) },
      then: { [unowned self] part in
        guard !index.isLoaded else { return }
        guard !part.isLast else { return finish(with: part.entries) }
        for entry in part.entries { loads.takeIn(entry) }
        take()
      })
  }

  /// Takes in the last entries.
  func finish(with entries: [DiskEntry]) {
    for entry in entries { loads.takeIn(entry) }
    index.finishLoading()
    eviction.trim()
  }
}
