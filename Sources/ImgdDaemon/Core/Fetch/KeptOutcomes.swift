import ImgdCache
import ImgdSystem
import ImgdWire

/// Outcomes of fetches without a waiting client, until `wait` collects them.
///
/// Bounded in number, in age and in bytes: an outcome may be all that holds its picture.
struct KeptOutcomes {
  static let longestKept = Duration.seconds(600)
  static let mostKept = 1_000

  struct Kept {
    let job: FetchJob
    let outcome: FetchOutcome
    let endedAt: Instant
    /// As it was when the outcome came; a memfd that is made later is paid for elsewhere.
    fileprivate let cost: Int
  }

  private var kept: [ReceiptID: Kept] = [:]
  /// In the order of their ends; of a receipt that was used again, the earlier ones are void.
  private var inOrder: [FetchJob] = []
  private var head = 0
  private var bytes = 0
  /// The bytes that outcomes may hold together.
  var mostBytes: Int

  init(mostBytes: Int) {
    self.mostBytes = mostBytes
  }

  mutating func keep(_ outcome: FetchOutcome, of job: FetchJob, at now: Instant) {
    drop(job.receipt)
    kept[job.receipt] = Kept(job: job, outcome: outcome, endedAt: now, cost: outcome.cost)
    inOrder.append(job)
    bytes += outcome.cost
    dropBeyondLimits(at: now)
  }

  mutating func find(_ receipt: ReceiptID, at now: Instant) -> Kept? {
    dropBeyondLimits(at: now)
    return kept[receipt]
  }

  /// The images that are kept, for a purge that may be about them.
  var images: [CachedImage] {
    kept.values.compactMap { kept in
      if case .image(let delivered) = kept.outcome { delivered.image } else { nil }
    }
  }

  /// Forgets what is kept under a receipt, when it is used again.
  mutating func drop(_ receipt: ReceiptID) {
    guard let dropped = kept.removeValue(forKey: receipt) else { return }
    bytes -= dropped.cost
  }

  private mutating func dropBeyondLimits(at now: Instant) {
    while head < inOrder.count {
      if let oldest = kept[inOrder[head].receipt], oldest.job === inOrder[head] {
        guard isBeyondLimits(oldest, at: now) else { break }
        drop(oldest.job.receipt)
      }
      head += 1
    }
    guard inOrder.count > 2 * Self.mostKept else { return }
    inOrder = inOrder[head...].filter { kept[$0.receipt]?.job === $0 }
    head = 0
  }

  private func isBeyondLimits(_ oldest: Kept, at now: Instant) -> Bool {
    kept.count > Self.mostKept || now - oldest.endedAt > Self.longestKept
      // The last one stays, however large: its client was told to come for it.
      || (bytes > mostBytes && kept.count > 1)
  }
}
