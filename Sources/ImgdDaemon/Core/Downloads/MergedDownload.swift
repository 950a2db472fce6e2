import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// One transfer and its waiters.
///
/// It is known by its serial number, never by its URL: a URL that was cancelled and asked for again
/// is another download, and late reports of the first one are dropped.
final class MergedDownload {
  /// The end of a download, as its waiters see it.
  enum Settlement {
    case ended(FetchOutcome)
    /// They have to go on elsewhere.
    case redirected(Redirect)
  }

  enum State {
    case queued
    case running
    /// Over, one way or the other: no request joins, and no report is taken.
    case closed
  }

  let serial: UInt64
  let mergeKey: MergeKey
  let policy: CacheMode
  /// The stored image that the transfer asks the origin to confirm.
  var confirming: CachedImage?

  var state = State.queued
  /// What has other hosts wait for its picture.
  var claim: FleetClaim?
  /// The last purge of the fleet that was heard before its transfer began.
  var mark: FleetPosition?
  /// When its transfer began; nil while it waits.
  var begunAt: Instant?
  /// The tiers that a matching purge keeps it out of, or a later download that has brought its answer
  /// first; its picture is delivered all the same.
  var purgedTiers: Set<Tier> = []
  /// Where the engine says what the transfer waits for, once it has begun.
  var transferPhase = PhaseCell()
  var received = 0
  var expected: Int?
  var hasHeaders = false
  /// The bytes and the time that the transfer may take: the most that any waiter grants.
  var allowance: Allowance

  /// How it has ended, for those who have still to be told.
  var settlement: Settlement?
  /// The round in which the waiters are told what is new.
  var round = Round()
  /// The tags of all that have ever waited, each once.
  private(set) var tags: [String] = []

  private var waiting: [FetchJob?] = []
  private var present = 0
  private var lastToLeave: FetchJob?

  struct Allowance: Equatable {
    var bytes: Int
    var time: Duration

    mutating func widen(to other: Allowance) {
      bytes = max(bytes, other.bytes)
      time = max(time, other.time)
    }
  }

  /// A pass over all waiters, in parts.
  struct Round {
    fileprivate(set) var isUnderWay = false
    fileprivate var place = 0
    /// There is more news, which those at the front have not been told.
    fileprivate var isStale = false

    /// Answers whether somebody has to carry it out; a round under way is made once more.
    mutating func begin() -> Bool {
      isStale = isUnderWay
      defer { isUnderWay = true }
      return !isUnderWay
    }
  }

  init(
    serial: UInt64, mergeKey: MergeKey, policy: CacheMode, confirming: CachedImage?,
    allowance: Allowance
  ) {
    self.serial = serial
    self.mergeKey = mergeKey
    self.policy = policy
    self.confirming = confirming
    self.allowance = allowance
  }

  var url: CanonicalURL { mergeKey.key.url }

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
    beneficiaries.contains { !$0.request.tiers.isEmpty || $0.request.keepsInFleet }
  }

  /// Whether a confirmation names another version of the answer than the stored one, or another target.
  func isMisconfirmed(by head: ResponseHead) -> Bool {
    guard let headers = confirming?.response.headers else { return false }
    return !headers.areConfirmed(by: head.pairs) || !headers.haveTarget(of: head.pairs)
  }

  /// Notes that all is there; a short body's head has not been told of before.
  func end(with result: TransferResult) {
    if !hasHeaders { expected = result.expected }
    hasHeaders = true
  }

  /// The bytes that its body has or is announced to have.
  var size: Int { hasHeaders ? max(received, expected ?? 0) : 0 }

  func add(_ job: FetchJob) {
    job.place = waiting.count
    job.download = self
    waiting.append(job)
    present += 1
    tags = EntryTags.union(tags, job.request.tags)
  }

  /// Leaves a gap, which is closed when half of the places are gaps: ten thousand waiters that go
  /// one by one must not cost ten thousand moves each.
  func remove(_ job: FetchJob) {
    guard job.download === self else { return }
    waiting[job.place] = nil
    job.download = nil
    present -= 1
    if present == 0 { lastToLeave = job }
    if !round.isUnderWay, waiting.count > 2 * present + 8 { closeGaps() }
  }

  /// The next waiters of the round; it ends with the last ones of them all.
  func nextOfRound(most: Int) -> [FetchJob] {
    let end = min(round.place + most, waiting.count)
    defer { moveRound(to: end) }
    return waiting[round.place..<end].compactMap { $0 }
  }

  private func moveRound(to end: Int) {
    round.place = end
    guard end == waiting.count else { return }
    round.place = 0
    round.isUnderWay = round.isStale
    round.isStale = false
    if !round.isUnderWay { closeGaps() }
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
    case .default_, .forceCache, .onlyIfCached, .peek: return true
    }
  }
}
