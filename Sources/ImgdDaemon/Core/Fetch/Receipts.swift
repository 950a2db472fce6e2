import ImgdSystem
import ImgdWire

/// Every live receipt, and the last ones that have ended.
struct JobRegistry {
  /// Receipts remembered as finished after their line was written, so that a late `cancel` can say
  /// so; older ones are `unknown`.
  private static let rememberedEnds = 1_000

  private var live: [ReceiptID: FetchJob] = [:]
  private var lastNumber: UInt64 = 0
  private var ended: Set<ReceiptID> = []
  private var endedInOrder: [ReceiptID] = []
  private var oldestEnd = 0

  var count: Int { live.count }
  var all: some Sequence<FetchJob> { live.values }

  /// The oldest first.
  var inOrder: [FetchJob] { live.values.sorted { $0.number < $1.number } }

  subscript(receipt: ReceiptID) -> FetchJob? { live[receipt] }

  func hasEnded(_ receipt: ReceiptID) -> Bool { ended.contains(receipt) }

  mutating func add(_ job: FetchJob) {
    lastNumber += 1
    job.number = lastNumber
    live[job.receipt] = job
  }

  mutating func remove(_ job: FetchJob) {
    guard live.removeValue(forKey: job.receipt) != nil else { return }
    rememberEnd(of: job.receipt)
  }

  /// Keeps the newest ends in a ring.
  mutating func rememberEnd(of receipt: ReceiptID) {
    guard ended.insert(receipt).inserted else { return }
    guard endedInOrder.count == Self.rememberedEnds else { return endedInOrder.append(receipt) }
    ended.remove(endedInOrder[oldestEnd])
    endedInOrder[oldestEnd] = receipt
    oldestEnd = (oldestEnd + 1) % Self.rememberedEnds
  }
}

extension Sequence where Element == FetchJob {
  /// The order in which many are ended: queued ones first, or they would be started only to be
  /// ended.
  var waitingFirst: [FetchJob] {
    let jobs = sorted { $0.number < $1.number }
    return jobs.filter { $0.state == .queued } + jobs.filter { $0.state != .queued }
  }
}

/// Receipts for requests that bring none: random UUIDs, drawn from the kernel in batches.
struct ReceiptSource {
  private static let batch = 256

  private var words = [UInt64](repeating: 0, count: 2 * batch)
  private var place = 2 * batch

  mutating func next() -> ReceiptID {
    if place == words.count { refill() }
    defer { place += 2 }
    return .random(using: (words[place], words[place + 1]))
  }

  private mutating func refill() {
    Randomness.fill(&words)
    place = 0
  }
}
