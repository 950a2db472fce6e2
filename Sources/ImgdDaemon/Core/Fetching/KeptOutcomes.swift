import Glibc
import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// Outcomes of fetches without a waiting client, until `wait` collects them.
///
/// They are bounded in number, in age and in bytes: an outcome may be all that holds its picture, and it keeps its
/// request. A user may have half of the outcomes and half of the bytes.
struct KeptOutcomes {
  static let longestKept = Duration.seconds(600)
  static let mostKept = 1_000

  struct Kept {
    let job: FetchJob
    let outcome: FetchOutcome
    let endedAt: Instant
    /// The cost when the outcome came; a memfd that is made later is counted elsewhere.
    fileprivate let cost: Int
  }

  private var kept: [ReceiptID: Kept] = [:]
  /// In the order in which they ended; where a receipt was used again, its earlier jobs are void.
  private var inOrder: [FetchJob] = []
  private var head = 0
  private(set) var bytes = 0
  var isEmpty: Bool { kept.isEmpty }
  private var users: [UInt32: KeptOfUser] = [:]
  private let access: Access
  /// The bytes that outcomes may hold together.
  var mostBytes: Int

  init(mostBytes: Int, _ access: Access) {
    self.mostBytes = mostBytes
    self.access = access
  }

  mutating func keep(_ outcome: FetchOutcome, of job: FetchJob, at now: Instant) {
    drop(job.receipt)
    let outcome = outcome.withoutReserve
    let cost = outcome.cost + job.cost
    kept[job.receipt] = Kept(job: job, outcome: outcome, endedAt: now, cost: cost)
    inOrder.append(job)
    bytes += cost
    users[job.uid, default: KeptOfUser()].add(job, cost: cost)
    dropBeyondShare(of: job.uid)
    dropBeyondLimits(at: now)
  }

  mutating func find(_ receipt: ReceiptID, at now: Instant) -> Kept? {
    dropBeyondLimits(at: now)
    return kept[receipt]
  }

  /// Forgets what is kept under a receipt, when it is used again.
  mutating func drop(_ receipt: ReceiptID) {
    guard let dropped = kept.removeValue(forKey: receipt) else { return }
    bytes -= dropped.cost
    users[dropped.job.uid]?.count -= 1
    users[dropped.job.uid]?.bytes -= dropped.cost
    if users[dropped.job.uid]?.count == 0 { users[dropped.job.uid] = nil }
  }

  /// Forgets the oldest outcomes of a user that has more than its share.
  private mutating func dropBeyondShare(of uid: UInt32) {
    let most = access.share(of: uid, in: Self.mostKept)
    let mostBytes = access.share(of: uid, in: mostBytes)
    while let user = users[uid], user.count > most || (user.bytes > mostBytes && user.count > 1),
      let oldest = users[uid]?.inOrder.popFirst()
    {
      if kept[oldest.receipt]?.job === oldest { drop(oldest.receipt) }
    }
    guard let user = users[uid], user.inOrder.count > 2 * Self.mostKept else { return }
    var tidied = Fifo<FetchJob>()
    for job in user.inOrder.all where kept[job.receipt]?.job === job { tidied.append(job) }
    users[uid]?.inOrder = tidied
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

extension FetchJob {
  /// Roughly what a job that has ended holds: its request, whose headers are in its key a second time.
  fileprivate var cost: Int {
    let headers = mergeKey.headers.reduce(0) { $0 + 128 + $1.name.utf8.count + $1.value.utf8.count }
    let tags = request.tags.reduce(0) { $0 + 32 + $1.utf8.count }
    return 1_024 + 2 * (headers + mergeKey.key.cost) + tags
  }
}

/// What is kept for one user.
private struct KeptOfUser {
  var count = 0
  var bytes = 0
  /// In the order in which they ended; some may be gone.
  var inOrder = Fifo<FetchJob>()

  mutating func add(_ job: FetchJob, cost: Int) {
    count += 1
    bytes += cost
    inOrder.append(job)
  }
}

extension FetchOutcome {
  /// The outcome as it may be kept for minutes: without one of the last descriptors.
  fileprivate var withoutReserve: FetchOutcome {
    guard case .image(let delivered) = self, delivered.image.takesReserve else { return self }
    return .failure(FetchFailure(error: .noDescriptor(SystemFailure("memfd_create", errno: EMFILE))))
  }
}
