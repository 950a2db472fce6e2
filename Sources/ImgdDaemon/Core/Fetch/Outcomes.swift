import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// How a fetch ended.
enum FetchOutcome {
  case image(DeliveredImage)
  case failure(FetchFailure)

  /// The bytes that keeping it would hold.
  var cost: Int {
    switch self {
    case .image(let delivered): delivered.image.payload.cost
    case .failure: 0
    }
  }
}

/// An image on its way to somebody, and where it came from.
struct DeliveredImage {
  enum Source: String {
    case memory
    case disk
    case revalidated
    case network
  }

  let image: CachedImage
  var source: Source
  var isCoalesced = false
  var isStale = false
}

/// An error and what `http:true` shows of the answer behind it.
struct FetchFailure {
  var error: WireError
  var head: ResponseHead?
  /// Whether the origin has failed, so that something stale may stand in for it.
  var isOfOrigin = false
}

/// Outcomes of fetches that nobody stayed for, until `wait` collects them.
///
/// Bounded in number, in age and in bytes: an outcome may be all that holds its picture.
struct Outcomes {
  static let longestKept = Duration.seconds(600)
  static let mostKept = 1_000

  struct Kept {
    let job: FetchJob
    let outcome: FetchOutcome
    let endedAt: Instant
    /// As it was when the outcome came; what is lent later is paid for elsewhere.
    fileprivate let cost: Int
  }

  private var kept: [ReceiptID: Kept] = [:]
  /// All that came; of a receipt that was used again, the earlier ones mean nothing any more.
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
      // The last one stays, however large: somebody was told to come for it.
      || (bytes > mostBytes && kept.count > 1)
  }
}
