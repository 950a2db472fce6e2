// Every fetch that waits for something, from the moment it is accepted to its one terminal line.
//
// However a fetch ends, it ends in `end`, once: that takes it out of every table, writes its line,
// and serves the clients that collect its outcome.

import ImgdCache
import ImgdSystem
import ImgdWire

/// The fetches under way, and the outcomes that are kept for `wait`.
final class FetchJobs {
  private let downloader: Downloader
  private let pictures: PictureTiers
  private let answers: FetchAnswers
  private let hub: EventHub
  private let loop: EventLoop
  private var registry = JobRegistry()
  private var outcomes: KeptOutcomes
  /// The deadline of a fetch that has none of its own, from the start of its transfer on.
  private var longestTransfer: Duration
  private var whenDrained: (() -> Void)?
  private(set) var latency = LatencyHistogram()

  init(
    downloader: Downloader, pictures: PictureTiers, answers: FetchAnswers, hub: EventHub,
    loop: EventLoop, settings: Configuration
  ) {
    self.downloader = downloader
    self.pictures = pictures
    self.answers = answers
    self.hub = hub
    self.loop = loop
    outcomes = KeptOutcomes(mostBytes: settings.memory.capacity / 4)
    longestTransfer = settings.downloads.timeout
  }

  func apply(_ settings: Configuration) {
    outcomes.mostBytes = settings.memory.capacity / 4
    longestTransfer = settings.downloads.timeout
  }

  // MARK: Looking in

  var count: Int { registry.count }
  var all: some Sequence<FetchJob> { registry.all }
  /// The oldest first.
  var inOrder: [FetchJob] { registry.inOrder }

  subscript(receipt: ReceiptID) -> FetchJob? { registry[receipt] }

  func isLive(_ job: FetchJob) -> Bool { registry[job.receipt] === job }

  /// Whether a fetch of that receipt is known to be over.
  func hasEnded(_ receipt: ReceiptID) -> Bool {
    registry.hasEnded(receipt) || outcome(of: receipt) != nil
  }

  /// The outcome that is kept of a fetch that has ended, for `wait`.
  func outcome(of receipt: ReceiptID) -> KeptOutcomes.Kept? {
    outcomes.find(receipt, at: loop.now)
  }

  /// The pictures that only kept outcomes may hold, for a purge.
  var keptImages: [CachedImage] { outcomes.images }

  // MARK: Beginning

  /// Takes a fetch in; in its slot the same fetch goes on beside it, and any other is cancelled
  /// first, so that a late result is never taken for the new one.
  func begin(_ job: FetchJob, on session: ClientSession) {
    outcomes.drop(job.receipt)
    if let slot = job.slot,
      !session.fetches.slots.isFetching(job.mergeKey, job.request, in: slot)
    {
      supersede(slot, of: session, by: job.receipt)
    }
    registry.add(job)
    session.fetches.begin(job, limit: session.limits.receipts)
  }

  /// Takes in a fetch of the daemon's own, which nobody waits for.
  func begin(_ job: FetchJob) {
    registry.add(job)
  }

  /// Tells, once, that the job has to wait for something.
  func announce(_ job: FetchJob) {
    guard !job.isAnnounced else { return }
    job.isAnnounced = true
    answers.tell("queued", of: job)
    hub.job(job.receipt, url: job.url.text, .queued)
  }

  /// Answers a request that does not wait: from here on the job has no connection.
  func acknowledge(_ job: FetchJob, as state: FetchJob.State) {
    answers.acknowledge(job, as: state)
    job.session?.fetches.detach(job)
    job.session = nil
  }

  /// Ends the job when the time is over, even if others have granted the transfer more.
  func expect(_ job: FetchJob, within limit: Duration) {
    job.deadline = loop.schedule(after: limit) { [unowned self, unowned job] in
      let failure = FetchFailure(error: .timedOut(after: limit), isOfOrigin: true)
      end(job, FetchOutcome.failure(failure).own(of: job))
    }
  }

  // MARK: Transfers

  /// Begins the transfers for which there is a place now.
  func startTransfers() {
    for download in downloader.startReady() {
      for job in download.waiters where job.isQueued { tellStarted(job) }
    }
  }

  /// Tells, once, that the job's transfer runs.
  func tellStarted(_ job: FetchJob) {
    job.isQueued = false
    if job.request.timeout == nil { expect(job, within: longestTransfer) }
    answers.tell("started", of: job)
    hub.job(job.receipt, url: job.url.text, .running)
  }

  /// Ends the jobs that do not want a body of this size; it may be right for others that wait.
  func endThoseBelow(_ bytes: Int, of download: MergedDownload) {
    for job in download.waiters where job.allowance.bytes < bytes {
      end(job, .failure(FetchFailure(error: .tooLarge(limit: job.allowance.bytes))))
    }
  }

  // MARK: Ending

  /// Ends a job, when its picture is a file if a path is wanted.
  func complete(_ job: FetchJob, _ outcome: FetchOutcome) {
    guard case .image(let delivered) = outcome, job.wantsPath else { return end(job, outcome) }
    job.isStoring = true
    pictures.lendFile(of: delivered.image, mayStore: job.request.keepsOnDisk) {
      [unowned self] path in
      end(job, outcome, path: path)
    }
  }

  /// The only way out for a job; one that has ended meanwhile is passed over.
  func end(_ job: FetchJob, _ outcome: FetchOutcome, path: PictureLine.Path? = nil) {
    guard isLive(job) else { return }
    if downloader.leave(job) { startTransfers() }
    job.deadline?.cancel()
    // A job that is kept with its outcome has paid for the outcome's bytes alone.
    job.fallback = nil
    registry.remove(job)
    if case .image(let delivered) = outcome, delivered.source != .memory {
      latency.record((loop.now - job.startedAt).nanoseconds)
    }
    job.session?.fetches.detach(job)
    job.owner?.fetches.end(job, as: outcome.state)
    answer(job, outcome, path)
    if !job.request.wait || job.request.detach { outcomes.keep(outcome, of: job, at: loop.now) }
    hub.job(job.receipt, url: job.url.text, outcome.state)
    job.session?.workEnded()
    if count == 0 { whenDrained?() }
  }

  private func answer(_ job: FetchJob, _ outcome: FetchOutcome, _ path: PictureLine.Path?) {
    if let session = job.session {
      answers.finishProgress(of: job, with: outcome)
      answers.write(outcome, to: Recipient(session, of: job, id: job.id), path: path)
    }
    for collector in job.collectors {
      guard let session = collector.session else { continue }
      let recipient = Recipient(session, of: job, id: collector.id, delivery: collector.delivery)
      session.resume(collector.ticket) { answers.write(outcome, to: recipient, path: path) }
    }
  }

  func cancel(_ job: FetchJob, supersededBy receipt: ReceiptID? = nil) {
    end(job, .failure(FetchFailure(error: .cancelled(supersededBy: receipt))))
  }

  /// Cancels the fetches in a slot that shows something else from now on.
  func supersede(_ slot: String, of session: ClientSession, by receipt: ReceiptID?) {
    for job in session.fetches.running(inSlot: slot) { cancel(job, supersededBy: receipt) }
  }

  /// Ends the fetches of a connection that is gone, but for detached ones.
  func abandon(_ session: ClientSession) {
    for job in session.fetches.takeWaiting().waitingFirst {
      job.session = nil
      if !job.request.detach { cancel(job) }
    }
  }

  // MARK: The end of service

  var isDraining: Bool { whenDrained != nil }

  /// Says when no fetch is under way; none may begin from now on.
  func drain(_ drained: @escaping () -> Void) {
    whenDrained = drained
    if count == 0 { drained() }
  }

  func endAll(_ error: WireError) {
    for job in registry.all.waitingFirst { end(job, .failure(FetchFailure(error: error))) }
  }
}
