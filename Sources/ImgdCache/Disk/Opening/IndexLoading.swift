/// Reads the index into memory while the daemon serves: part by part, so that a client's picture never has to
/// wait long for the reader.
final class IndexLoading: DiskPart {
  private static let gatheredAtOnce = 16_384
  /// How many entries the loop takes in within a tick, in a fraction of a millisecond.
  private static let takenAtOnce = 512

  let ground: DiskGround
  private let loads: DiskLoads
  private let eviction: DiskEviction

  init(_ ground: DiskGround, loads: DiskLoads, eviction: DiskEviction) {
    self.ground = ground
    self.loads = loads
    self.eviction = eviction
  }

  /// Has the reader open and read the index in a directory.
  func begin(in directory: DiskDirectory) {
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.open(directory) },
      then: { [unowned self] in if !index.isLoaded { gather() } })
  }

  /// Has the reader gather all entries, and takes them in.
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

  /// Takes in the last entries.
  func finish(with entries: [DiskEntry]) {
    for entry in entries { loads.takeIn(entry) }
    index.finishLoading()
    eviction.trim()
  }
}
