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
    case revalidated
    case network
  }

  let image: CachedImage
  let source: Source
  var isCoalesced = false
  var isStale = false
}

/// An error and what `http:true` shows of the answer behind it.
struct FetchFailure {
  let error: WireError
  var head: ResponseHead?
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
  }

  private var kept: [ReceiptID: Kept] = [:]
  private var inOrder: [ReceiptID] = []
  private var head = 0
  private var bytes = 0
  private let mostBytes: Int

  init(mostBytes: Int) {
    self.mostBytes = mostBytes
  }

  mutating func keep(_ outcome: FetchOutcome, of job: FetchJob, at now: Instant) {
    kept[job.receipt] = Kept(job: job, outcome: outcome, endedAt: now)
    inOrder.append(job.receipt)
    bytes += outcome.cost
    dropBeyondLimits(at: now)
  }

  mutating func find(_ receipt: ReceiptID, at now: Instant) -> Kept? {
    dropBeyondLimits(at: now)
    return kept[receipt]
  }

  private mutating func dropBeyondLimits(at now: Instant) {
    while let oldest = oldest, isBeyondLimits(oldest, at: now) {
      kept[oldest.job.receipt] = nil
      bytes -= oldest.outcome.cost
      head += 1
    }
    guard head > Self.mostKept else { return }
    inOrder.removeFirst(head)
    head = 0
  }

  private var oldest: Kept? { head < inOrder.count ? kept[inOrder[head]] : nil }

  private func isBeyondLimits(_ oldest: Kept, at now: Instant) -> Bool {
    kept.count > Self.mostKept || bytes > mostBytes || now - oldest.endedAt > Self.longestKept
  }
}
