// Every fetch that waits for something, from the moment it is accepted to its one terminal line.
//
// However a fetch ends, it ends in `end`, once: there it leaves every table, and its lines are written.

import Glibc
import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class FetchJobs: FetchPart {
  /// How many fetches of a slot are ended at once.
  private static let endedAtOnce = 16

  let ground: FetchGround
  private var registry = JobRegistry()
  private var outcomes: KeptOutcomes
  private var byClient: [UInt64: ClientFetches] = [:]
  let shares: RequestShares
  let failed: RecentFailures
  private var whenDrained: (() -> Void)?
  private(set) var latency = LatencyHistogram()

  init(_ ground: FetchGround, settings: Configuration) {
    self.ground = ground
    shares = RequestShares(ground.access, loop: ground.loop)
    failed = RecentFailures(ground.access)
    outcomes = KeptOutcomes(mostBytes: settings.memory.capacity / 4, ground.access)
  }

  func apply(_ settings: Configuration) { outcomes.mostBytes = settings.memory.capacity / 4 }

  var count: Int { registry.count }
  var newest: UInt64 { registry.roll.newest }

  subscript(receipt: ReceiptID) -> FetchJob? { registry[receipt] }

  /// Some of the fetches under way, or of those with a tag, the oldest first.
  func part(of tag: String? = nil, after number: UInt64, most: Int) -> MassEnding.Part {
    registry.roll(of: tag).part(after: number, most: most)
  }

  /// Refuses a receipt that is in use, or another user's: those who learn of it must not destroy what it stands for.
  func checkIsFree(_ receipt: ReceiptID, for uid: UInt32) throws(WireError) {
    guard registry[receipt] == nil else { throw .duplicate(receipt) }
    let owner = outcome(of: receipt)?.job.uid ?? registry.formerOwner(of: receipt)
    guard owner == nil || owner == uid else { throw .takenByAnother(receipt) }
  }

  /// Whether nothing is known of a request's receipt, as is usual: then anyone may use it.
  func isUnknown(_ receipt: ReceiptID?) -> Bool {
    guard let receipt else { return true }
    return (registry.count == 0 || registry[receipt] == nil) && registry.formerOwner(of: receipt) == nil
      && (outcomes.isEmpty || outcome(of: receipt) == nil)
  }

  func hasEnded(_ receipt: ReceiptID) -> Bool {
    registry.formerOwner(of: receipt) != nil || outcome(of: receipt) != nil
  }

  /// The outcome that is kept of a fetch that has ended, for `wait`.
  func outcome(of receipt: ReceiptID) -> KeptOutcomes.Kept? { outcomes.find(receipt, at: loop.now) }

  var keptBytes: Int { outcomes.bytes }

  /// The fetches of a connection; nil where it has begun none.
  func fetches(of client: ReplyPlace) -> ClientFetches? { byClient[client.number] }

  func hasRoom(on client: ReplyPlace, inSlot slot: String?) -> Bool {
    fetches(of: client)?.hasRoom(inSlot: slot, limit: client.limits.receipts) ?? true
  }

  /// Frees the slot of a fetch: an identical fetch goes on beside it there, and any other is
  /// cancelled first, so that a late result is never taken for the new one.
  func makeRoom(for job: FetchJob, on client: ReplyPlace, then: @escaping () -> Void) {
    guard let slot = job.slot, fetches(of: client)?.slots.isFetching(job.requested, job.request, in: slot) != true
    else { return then() }
    supersede(slot, of: client, by: job.receipt, then: then)
  }

  func begin(_ job: FetchJob, on client: ReplyPlace) {
    outcomes.drop(job.receipt)
    begin(job)
    guard client.isOpen else { return }
    let fetches = byClient[client.number] ?? ClientFetches(of: client)
    byClient[client.number] = fetches
    fetches.begin(job, limit: client.limits.receipts)
  }

  /// Takes in a fetch of the daemon's own, which nobody waits for.
  func begin(_ job: FetchJob) {
    registry.add(job)
    shares.hold(job)
  }

  /// Answers a request that does not wait: from here on the job has no connection.
  func acknowledge(_ job: FetchJob, as state: FetchState) {
    answers.acknowledge(job, as: state)
    detach(job)
    job.client = nil
  }

  // MARK: Ending

  /// The only way out for a job; one that has ended in the meantime is skipped.
  func end(_ job: FetchJob, _ outcome: FetchOutcome, path: PictureLine.Path? = nil) {
    guard job.isLive else { return }
    letGo(job)
    job.deadline?.cancel()
    // What a job has found stored is not counted when the job is kept with its outcome.
    job.machine.forgetStored()
    registry.remove(job)
    shares.release(job)
    if let source = outcome.source, source != .memory, job.mode.counts {
      latency.record((loop.now - job.startedAt).nanoseconds)
    }
    count(outcome, of: job)
    FetchLog.end(job, outcome, at: loop.now)
    detach(job)
    if let owner = job.owner { fetches(of: owner)?.remove(job, endedAs: outcome.state) }
    answer(job, outcome, path)
    if !job.request.wait || job.request.detach { outcomes.keep(outcome, of: job, at: loop.now) }
    hub.job(job, endedWith: outcome)
    job.client?.workEnded()
    if count == 0 { whenDrained?() }
  }

  /// Counts a fetch with its origin, and keeps why it has failed; one that memory has answered has been counted as a use
  /// of the picture.
  private func count(_ outcome: FetchOutcome, of job: FetchJob) {
    if job.mode.counts, let error = outcome.error, ![.cancelled, .notCached, .shuttingDown].contains(error.code) {
      failed.add(error, of: job.url.text, for: job.uid)
    }
    guard job.mode.counts, job.handed == nil, !job.machine.isRefresh, outcome.source != .memory,
      outcome.state != .cancelled
    else { return }
    ledger.countFetch(of: job.route.url, endedWith: outcome.source, isCoalesced: job.isCoalesced)
  }

  /// Takes a job off what it waits for.
  private func letGo(_ job: FetchJob) {
    defer { job.waitingFor = .disk }
    switch job.waitingFor {
    case .disk, .file: break
    case .copy(let place): copies.leave(place)
    case .fleet(let place): fleet.leave(place)
    case .download(let place):
      guard downloader.leave(place) else { return }
      fleet.giveUp(place.download)
      downloader.onPlaces()
    case .decoder(let place): preparation.renditions.leave(place)
    }
  }

  /// Notes that the answer to a job no longer goes over its connection.
  private func detach(_ job: FetchJob) { if let client = job.client { fetches(of: client)?.detach(job) } }

  private func answer(_ job: FetchJob, _ outcome: FetchOutcome, _ path: PictureLine.Path?) {
    if let client = job.client {
      answers.finishProgress(of: job, with: outcome)
      answers.write(outcome, to: Recipient(client, of: job, id: job.id), path: path)
    }
    for collector in job.collectors {
      guard let client = collector.openClient else { continue }
      let recipient = Recipient(client, of: job, id: collector.id, delivery: collector.delivery)
      client.resume(collector.ticket) { answers.write(outcome, to: recipient, path: path) }
    }
  }

  func cancel(_ job: FetchJob, supersededBy receipt: ReceiptID? = nil) {
    end(job, .failure(FetchFailure(error: .cancelled(supersededBy: receipt))))
  }

  /// Cancels the fetches in a slot that shows something else from now on; the client's next request waits for that.
  func supersede(_ slot: String, of client: ReplyPlace, by receipt: ReceiptID?, then: @escaping () -> Void) {
    let running = fetches(of: client)?.slots.takeRunning(in: slot) ?? JobRoll()
    let ending = MassEnding(running) { [unowned self] in cancel($0, supersededBy: receipt) }
    guard running.count > Self.endedAtOnce else {
      ending.endAll()
      return then()
    }
    client.walk {
      if ending.step() { return true }
      then()
      return false
    }
  }

  /// A request that never became a job, as far as it could be read.
  struct Refused {
    let slot: String?
    let id: RequestID
    let receipt: ReceiptID?
    let url: String?
  }

  /// Refuses a request; a fetch that is refused for its URL takes its slot all the same.
  func refuse(_ refused: Refused, _ error: WireError, to client: ReplyPlace) {
    let answer = { client.refuse(id: refused.id, receipt: refused.receipt, url: refused.url, error) }
    guard let slot = refused.slot else { return answer() }
    supersede(slot, of: client, by: refused.receipt, then: answer)
  }

  /// Ends the fetches of a connection that is gone, except detached ones.
  func abandon(_ client: ReplyPlace) {
    guard !byClient.isEmpty, let waiting = byClient.removeValue(forKey: client.number)?.takeWaiting(), !waiting.isEmpty
    else { return }
    let ending = MassEnding(waiting) { [unowned self] job in
      job.client = nil
      if !job.request.detach { cancel(job) }
    }
    turns.carryOut(ending.step)
  }

  // MARK: The end of service

  var isDraining: Bool { whenDrained != nil }

  /// Calls back when no fetch is under way; none may begin from now on.
  func drain(_ drained: @escaping () -> Void) {
    whenDrained = drained
    if count == 0 { drained() }
  }

  func endAll(_ error: WireError) {
    MassEnding(upTo: newest, { [unowned self] in part(after: $0, most: $1) }) { [unowned self] job in
      end(job, .failure(FetchFailure(error: error)))
    }.endAll()
  }
}

extension EventHub {
  func job(_ job: FetchJob, _ state: FetchState) { self.job(job.receipt, url: job.url.text, of: job.uid, state) }

  func job(_ job: FetchJob, endedWith outcome: FetchOutcome) {
    self.job(job.receipt, url: job.url.text, of: job.uid, endedWith: outcome)
  }
}

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
  private var inOrder = Fifo<FetchJob>()
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
    var outcome = outcome
    // What may be kept for minutes must not hold one of the last descriptors.
    if case .image(let delivered) = outcome, delivered.image.takesReserve {
      outcome = .failure(FetchFailure(error: .noDescriptor(SystemFailure("memfd_create", errno: EMFILE))))
    }
    let cost = outcome.cost + job.cost
    kept[job.receipt] = Kept(job: job, outcome: outcome, endedAt: now, cost: cost)
    inOrder.append(job)
    bytes += cost
    users[job.uid, default: KeptOfUser()].count += 1
    users[job.uid]?.bytes += cost
    users[job.uid]?.inOrder.append(job)
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
      if isKept(oldest) { drop(oldest.receipt) }
    }
    guard let inOrder = users[uid]?.inOrder, inOrder.count > 2 * Self.mostKept else { return }
    let left = tidied(inOrder)
    users[uid]?.inOrder = left
  }

  private mutating func dropBeyondLimits(at now: Instant) {
    while let job = inOrder.first {
      if let oldest = kept[job.receipt], oldest.job === job {
        guard isBeyondLimits(oldest, at: now) else { break }
        drop(job.receipt)
      }
      _ = inOrder.popFirst()
    }
    if inOrder.count > 2 * Self.mostKept { inOrder = tidied(inOrder) }
  }

  private func isKept(_ job: FetchJob) -> Bool { kept[job.receipt]?.job === job }

  /// The jobs without those that are gone.
  private func tidied(_ jobs: Fifo<FetchJob>) -> Fifo<FetchJob> {
    var tidied = Fifo<FetchJob>()
    for job in jobs.all where isKept(job) { tidied.append(job) }
    return tidied
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
    let headers = (mergeKey.headers + mergeKey.tracing).reduce(0) {
      $0 + 128 + $1.name.utf8.count + $1.value.utf8.count
    }
    let tags = request.tags.reduce(0) { $0 + 32 + $1.utf8.count }
    return 1_024 + 2 * (headers + mergeKey.key.cost) + tags
  }
}

private struct KeptOfUser {
  var count = 0
  var bytes = 0
  /// In the order in which they ended; some may be gone.
  var inOrder = Fifo<FetchJob>()
}
