import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// One transfer and its waiters.
///
/// It is known by its serial number, never by its URL: a URL that was cancelled and asked for again
/// is another download, and late reports of the first one are dropped.
final class MergedDownload {
  enum State {
    case queued
    case running
    /// Over, one way or the other: no request joins, and no report is taken.
    case closed
  }

  let serial: UInt64
  let mergeKey: MergeKey
  let url: CanonicalURL
  let policy: CacheMode
  /// The stored image that the transfer asks the origin to confirm.
  var confirming: CachedImage?

  var state = State.queued
  /// When its transfer began; nil while it waits.
  var begunAt: Instant?
  /// The tiers that a matching purge keeps it out of, or a later download that has brought its answer
  /// first; its picture is delivered all the same.
  var purgedTiers: Set<Tier> = []
  var received = 0
  var expected: Int?
  var hasHeaders = false
  /// The bytes and the time that the transfer may take: the most that any waiter grants.
  var allowance: Allowance

  private var waiting: [FetchJob?] = []
  private var present = 0
  private var lastToLeave: FetchJob?
  private var priorities: [Priority: Int] = [:]

  struct Allowance: Equatable {
    var bytes: Int
    var time: Duration

    mutating func widen(to other: Allowance) {
      bytes = max(bytes, other.bytes)
      time = max(time, other.time)
    }
  }

  init(
    serial: UInt64, mergeKey: MergeKey, url: CanonicalURL, policy: CacheMode,
    confirming: CachedImage?, allowance: Allowance
  ) {
    self.serial = serial
    self.mergeKey = mergeKey
    self.url = url
    self.policy = policy
    self.confirming = confirming
    self.allowance = allowance
  }

  /// Its picture is kept nowhere.
  var isPurgedEverywhere: Bool { purgedTiers.count == Tier.allCases.count }

  /// No request joins it any more: one that comes after a purge wants the picture after it.
  var isPurged: Bool { !purgedTiers.isEmpty }

  /// The waiters, in the order in which they joined.
  var waiters: [FetchJob] { waiting.compactMap { $0 } }

  /// The jobs whose wishes hold for the picture: the waiters, or the last one of an orphan.
  var beneficiaries: [FetchJob] { present > 0 ? waiters : lastToLeave.map { [$0] } ?? [] }

  var waiterCount: Int { present }

  /// Whether any of them wants the picture kept.
  var isForKeeping: Bool {
    beneficiaries.contains { $0.request.keepsInMemory || $0.request.keepsOnDisk }
  }

  /// Whether a confirmation names another version of the picture than the stored one.
  func isMisconfirmed(by head: ResponseHead) -> Bool {
    confirming.map { !$0.response.headers.areConfirmed(by: head.pairs) } ?? false
  }

  /// The tags of them all, each once.
  var tags: [String] {
    beneficiaries.reduce(into: []) { tags, job in
      tags += job.request.tags.filter { !tags.contains($0) }
    }
  }

  /// The highest priority of the waiters; an orphan has the lowest.
  var priority: Priority {
    Priority.allCases.last { priorities[$0, default: 0] > 0 } ?? .low
  }

  func add(_ job: FetchJob) {
    job.place = waiting.count
    job.download = self
    waiting.append(job)
    present += 1
    priorities[job.priority, default: 0] += 1
  }

  /// Leaves a gap, which is closed when half of the places are gaps: ten thousand waiters that go
  /// one by one must not cost ten thousand moves each.
  func remove(_ job: FetchJob) {
    guard job.download === self else { return }
    waiting[job.place] = nil
    job.download = nil
    present -= 1
    if present == 0 { lastToLeave = job }
    priorities[job.priority, default: 0] -= 1
    if waiting.count > 2 * present + 8 { closeGaps() }
  }

  private func closeGaps() {
    waiting = waiting.filter { $0 != nil }
    for (place, job) in waiting.enumerated() { job?.place = place }
  }

  /// Whether a request under `mode` may share this transfer.
  ///
  /// A request for a fresh answer shares only transfers that were begun to get one; the others take
  /// any answer of the network.
  func admits(_ mode: CacheMode) -> Bool {
    guard state != .closed, !isPurged else { return false }
    switch mode {
    case .reload: return policy == .reload
    case .noCache: return policy == .noCache || policy == .reload
    case .noStore: return policy == .noStore || policy == .reload
    case .default_, .forceCache, .onlyIfCached: return true
    }
  }
}
