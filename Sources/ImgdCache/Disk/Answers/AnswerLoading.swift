internal import ImgdSystem

/// Reads the rows of remembered answers while the daemon serves, and hands the answers on part by part.
///
/// The writer reads them, so that a part has all changes that were asked for before it; those that are
/// asked for meanwhile are noted here.
final class AnswerLoading {
  /// So many purges go over the rows that have not been read; of more, all rows are gone.
  private static let mostPurges = 8
  /// After so many changes a part is read again.
  private static let mostNoted = 4_096

  /// Called with answers that are of use; set once by the composition of the daemon.
  var onAnswers: ([CachedImage]) -> Void = { _ in }
  /// Called before a part is asked for, to send the changes that it has to have; set once by the owner.
  var onReading: () -> Void = {}

  private let threads: DiskThreads
  private let rules: DiskRules
  private let loop: EventLoop
  /// The key behind which to go on; nil when there is nothing to be read.
  private var last: [UInt8]?
  private var isReading = false
  /// Digests of rows that have been changed since the part was asked for.
  private var noted: Set<KeyDigest> = []
  /// The part that was asked for may have rows that are gone.
  private var isOutdated = false
  private var purges = 0

  init(_ threads: DiskThreads, _ rules: DiskRules, loop: EventLoop) {
    self.threads = threads
    self.rules = rules
    self.loop = loop
  }

  /// Whether there are rows that have not been read since the index was opened.
  var isUnderWay: Bool { last != nil }

  /// The memory that it takes, roughly.
  var heldBytes: Int { noted.count * 32 }

  // MARK: Life

  /// Begins with an index that has been opened. What the purges mean goes before anything is read, and
  /// before they can be over.
  func begin(after orders: [RemovalOrder]) {
    (last, isReading, purges) = ([], false, 0)
    if !orders.isEmpty { carryOut(orders) }
    goOn()
  }

  /// The index is given up.
  func end() { last = nil }

  /// Reads the next part, unless that is being done: also after the disk has refused.
  func goOn() {
    guard let last, !isReading else { return }
    onReading()
    (isReading, noted, isOutdated) = (true, [], false)
    let wall = rules.wall
    threads.order(
      { (disk) throws(DiskTrouble) in try AnswerWork(disk).read(after: last, at: wall) },
      then: { [unowned self, generation = threads.generation] part in
        guard generation == threads.generation else { return }
        isReading = false
        if let part { take(part) }
      })
  }

  private func take(_ part: AnswerPart) {
    guard !isOutdated else { return goOn() }
    last = part.next
    let images = part.answers.filter { !noted.contains($0.record.digest) }
      .compactMap { $0.image(wall: rules.wall, at: loop.now) }
    if !images.isEmpty { onAnswers(images) }
    goOn()
  }

  // MARK: Changes meanwhile

  /// Notes that a row is changed: what is being read of it does not count.
  func note(_ digest: KeyDigest) {
    guard isReading else { return }
    noted.insert(digest)
    if noted.count > Self.mostNoted { (noted, isOutdated) = ([], true) }
  }

  /// Notes that all rows go.
  func noteAll() { isOutdated = true }

  /// Has what a purge means removed from the rows that have not been read; those that have been are in
  /// memory.
  func purge(_ filter: PurgeFilter, isSoft: Bool) {
    guard last != nil else { return }
    purges += 1
    isOutdated = true
    carryOut([RemovalOrder(filter, isSoft: isSoft, askedAt: rules.wall)])
  }

  private func carryOut(_ orders: [RemovalOrder]) {
    let (last, clears) = (last ?? [], purges > Self.mostPurges)
    threads.order { (disk) throws(DiskTrouble) in
      if clears { return try AnswerWork(disk).clear() }
      try AnswerWork(disk).purge(orders, after: last)
    }
  }
}
