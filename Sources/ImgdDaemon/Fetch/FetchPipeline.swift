// The one way through: request → key → memory → network → store → reply.
//
// `fetch` takes a request as far as it goes at once. A hit ends there, in the same call, without a
// job and without leaving the loop. What has to wait becomes a `FetchJob` in the downloader's hands,
// and the way goes on in `landed`, when its transfer has ended. Nothing here calls back up: a stage
// either answers, or leaves a place that a later stage fills.
//
// However a job ends, it ends in `end`, once: that takes it out of every table and writes its line.

import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class FetchPipeline {
  let memory: MemoryTier
  let downloader: Downloader
  let hub: EventHub
  let loop: EventLoop
  private(set) var settings: Configuration
  private(set) var jobs = JobRegistry()
  private(set) var outcomes: Outcomes
  private var receipts = ReceiptSource()
  private(set) var hitLatency = LatencyHistogram()
  private(set) var fetchLatency = LatencyHistogram()
  private var whenDrained: (() -> Void)?

  init(
    memory: MemoryTier, downloader: Downloader, hub: EventHub, loop: EventLoop,
    settings: Configuration
  ) {
    self.memory = memory
    self.downloader = downloader
    self.hub = hub
    self.loop = loop
    self.settings = settings
    outcomes = Outcomes(mostBytes: settings.memory.capacity / 4)
    downloader.onNews = { [unowned self] download, news in take(news, of: download) }
  }

  func apply(_ settings: Configuration) {
    self.settings = settings
    outcomes.mostBytes = settings.memory.capacity / 4
    downloader.apply(settings.downloads)
    hub.cache(.evicted, memory.apply(MemoryTier.Limits(settings.memory)))
  }

  // MARK: In

  /// Answers a fetch, or accepts it and answers later.
  func fetch(_ request: FetchRequest, id: RequestID, from session: ClientSession) {
    if answerPlainHit(request, id: id, to: session) { return }
    do throws(WireError) {
      try accept(request, id: id, from: session)
    } catch {
      session.refuse(id: id, receipt: request.receipt, error)
    }
  }

  /// The whole way of a hit for the usual request, which names nothing but a URL.
  ///
  /// No job and no allocation that lasts; everything unusual goes the long way, and so does a URL
  /// that is not in canonical form: no image is kept under such a one.
  private func answerPlainHit(
    _ request: FetchRequest, id: RequestID, to session: ClientSession
  ) -> Bool {
    guard request.isPlain, !isDraining,
      let image = memory.readyImage(
        for: request.url, identifier: request.identifier, at: loop.now)
    else { return false }
    if image.replyPieces == nil {
      hub.cache(.evicted, memory.keepReply(FetchReply.pieces(of: image), with: image))
    }
    let receipt = receipts.next()
    let elapsed = Instant.current.nanoseconds - loop.now.nanoseconds
    hitLatency.record(elapsed)
    let reply = FetchReply(
      delivered: DeliveredImage(image: image, source: .memory), id: id, receipt: receipt,
      delivery: request.delivery, showsHTTP: request.http, url: request.url,
      elapsedNanoseconds: elapsed, now: loop.now)
    if let line = reply.asHitLine { session.write(line) } else { deliver(reply, to: session) }
    hub.job(receipt, url: request.url, .done)
    return true
  }

  private func accept(
    _ request: FetchRequest, id: RequestID, from session: ClientSession
  ) throws(WireError) {
    guard !isDraining else { throw .shuttingDown }
    let url: CanonicalURL
    do throws(URLProblem) {
      url = try CanonicalURL.parse(request.url)
    } catch {
      if let slot = request.slot { supersede(slot, of: session, by: request.receipt) }
      throw .of(error)
    }
    try check(request, from: session)
    let receipt = request.receipt ?? receipts.next()
    let job = makeJob(request, id: id, receipt: receipt, url: url, session: session)
    outcomes.drop(receipt)
    enterSlot(job, of: session)
    jobs.add(job)
    session.jobs[receipt] = job
    session.live += 1
    proceed(job)
  }

  /// Everything that refuses a request before it has any effect.
  private func check(_ request: FetchRequest, from session: ClientSession) throws(WireError) {
    let limits = session.limits
    if let feature = request.decoderFeature { throw .needsDecoder(feature) }
    if let receipt = request.receipt, jobs[receipt] != nil { throw .duplicate(receipt) }
    guard session.live < limits.receipts,
      session.slots.hasRoom(for: request.slot, limit: limits.receipts)
    else { throw .tooManyReceipts(limit: limits.receipts) }
  }

  private func makeJob(
    _ request: FetchRequest, id: RequestID, receipt: ReceiptID, url: CanonicalURL,
    session: ClientSession
  ) -> FetchJob {
    let headers = RequestHeaders(request.headers, uid: session.peer.uid)
    let key = CacheKey(url: url, identifier: request.identifier, scope: headers.scope)
    let job = FetchJob(
      receipt: receipt, id: id, request: request, url: url,
      mergeKey: MergeKey(key: key, headers: headers.sorted), uid: session.peer.uid,
      startedAt: loop.now, allowance: allowance(for: request))
    job.session = session
    job.owner = session
    return job
  }

  private func allowance(for request: FetchRequest) -> MergedDownload.Allowance {
    let limit = settings.downloads.maxBytes
    return MergedDownload.Allowance(
      bytes: min(request.maxBytes ?? limit, limit),
      time: request.timeout ?? settings.downloads.timeout)
  }

  // MARK: Memory, then network

  private func proceed(_ job: FetchJob) {
    let found = job.request.cache.reads ? memory.peek(job.mergeKey.key) : nil
    let image = found.flatMap { $0.isFor(sent: job.mergeKey.sent) ? $0 : nil }
    if let image, job.request.cache.accepts(image, at: loop.now) { return hit(image, for: job) }
    memory.noteMiss()
    guard job.request.cache != .onlyIfCached else {
      return endAtOnce(job, .failure(FetchFailure(error: .notCached(job.url.text))))
    }
    let limit = job.owner?.limits.queued ?? .max
    guard jobs.count <= limit else {
      return endAtOnce(job, .failure(FetchFailure(error: .queueFull(limit: limit))))
    }
    let mayConfirm = image?.response.canBeConfirmed == true && !job.mergeKey.hasCondition
    download(job, revalidating: mayConfirm ? image : nil)
  }

  private func hit(_ image: CachedImage, for job: FetchJob) {
    memory.noteUse(of: image, at: loop.now)
    hitLatency.record(Instant.current.nanoseconds - loop.now.nanoseconds)
    let isStale = !image.isFresh(at: loop.now)
    let delivered = DeliveredImage(image: image, source: .memory, isStale: isStale)
    endAtOnce(job, FetchOutcome.image(delivered).own(of: job))
  }

  /// Ends a job that never had to wait.
  private func endAtOnce(_ job: FetchJob, _ outcome: FetchOutcome) {
    if !job.request.wait { acknowledge(job, as: outcome.state) }
    end(job, outcome)
  }

  private func download(_ job: FetchJob, revalidating image: CachedImage?) {
    if job.request.events { tell(job, "queued") }
    hub.job(job.receipt, url: job.url.text, .queued)
    downloader.join(job, revalidating: image)
    if job.state == .running, job.isQueued { tellStarted(job) }
    if job.download?.hasHeaders == true { tellProgress(of: job) }
    if !job.request.wait { acknowledge(job, as: job.state) }
    if let limit = job.request.timeout { expect(job, within: limit) }
  }

  /// Ends the job when the time is over, whatever longer time another grants the transfer.
  private func expect(_ job: FetchJob, within limit: Duration) {
    job.deadline = loop.schedule(after: limit) { [unowned self, unowned job] in
      end(job, .failure(FetchFailure(error: .timedOut(after: limit))))
    }
  }

  /// The line of a request that does not wait: from here on the job has no connection.
  private func acknowledge(_ job: FetchJob, as state: FetchJob.State) {
    job.session?.reply(id: job.id) { line in
      line.field("receipt", job.receipt)
      line.field("url", job.request.url)
      line.field("state", state.rawValue)
    }
    detach(job)
  }

  private func detach(_ job: FetchJob) {
    job.session?.jobs[job.receipt] = nil
    job.session = nil
  }

  // MARK: News from the transfers

  private func take(_ news: DownloadNews, of download: MergedDownload) {
    switch news {
    case .started:
      for job in download.waiters where job.isQueued { tellStarted(job) }
    case .headers(let expected):
      endThoseBelow(expected ?? 0, of: download)
      for job in download.waiters { tellProgress(of: job) }
    case .progress(let received, _):
      endThoseBelow(received, of: download)
      for job in download.waiters { tellProgress(of: job) }
    case .finished(let outcome):
      landed(outcome, of: download)
    }
  }

  private func tellStarted(_ job: FetchJob) {
    job.isQueued = false
    // Without a deadline of its own a fetch has the server's, from the start of the transfer on.
    if job.request.timeout == nil { expect(job, within: settings.downloads.timeout) }
    if job.request.events { tell(job, "started") }
    hub.job(job.receipt, url: job.url.text, .running)
  }

  /// A body that is too large for one may be right for another who waits for it.
  private func endThoseBelow(_ bytes: Int, of download: MergedDownload) {
    for job in download.waiters where job.allowance.bytes < bytes {
      end(job, .failure(FetchFailure(error: .tooLarge(limit: job.allowance.bytes))))
    }
  }

  /// The end of a transfer: store once, then answer everybody, so that whoever has the answer finds
  /// the image in the cache.
  private func landed(_ outcome: DownloadOutcome, of download: MergedDownload) {
    let result = settle(outcome, of: download)
    for job in download.waiters {
      download.remove(job)
      end(job, result.own(of: job))
    }
  }

  // MARK: Out

  /// The only way out for a job: off every table, its line written, its collectors served.
  func end(_ job: FetchJob, _ outcome: FetchOutcome) {
    // A connection that breaks while many jobs are being ended ends those of its own.
    guard jobs[job.receipt] === job else { return }
    downloader.leave(job)
    job.deadline?.cancel()
    jobs.remove(job)
    if case .image(let delivered) = outcome, delivered.source != .memory {
      fetchLatency.record((loop.now - job.startedAt).nanoseconds)
    }
    let session = job.session
    session?.jobs[job.receipt] = nil
    job.owner?.live -= 1
    if let slot = job.slot { job.owner?.slots.end(job, as: outcome.state, in: slot) }
    if let session { answer(outcome, of: job, to: session, id: job.id) }
    serveCollectors(of: job, with: outcome)
    hub.job(job.receipt, url: job.url.text, outcome.state)
    session?.workEnded()
    if jobs.count == 0 { whenDrained?() }
  }

  private func serveCollectors(of job: FetchJob, with outcome: FetchOutcome) {
    for collector in job.collectors {
      guard let session = collector.session, session.isOpen else { continue }
      session.collecting -= 1
      answer(outcome, of: job, to: session, id: collector.id, as: collector.delivery)
      session.workEnded()
    }
    if !job.request.wait || job.request.detach { outcomes.keep(outcome, of: job, at: loop.now) }
  }

  /// Whether a fetch of that receipt is known to be over.
  func hasEnded(_ receipt: ReceiptID) -> Bool {
    jobs.hasEnded(receipt) || outcome(of: receipt) != nil
  }

  /// What is kept of a fetch that has ended, for `wait`.
  func outcome(of receipt: ReceiptID) -> Outcomes.Kept? {
    outcomes.find(receipt, at: loop.now)
  }

  /// The connection is gone: what it had not detached ends with it.
  func abandon(_ session: ClientSession) {
    for job in session.jobs.values.waitingFirst {
      job.session = nil
      if !job.request.detach { end(job, .failure(FetchFailure(error: .cancelled()))) }
    }
    session.jobs = [:]
  }

  // MARK: The end of service

  var isDraining: Bool { whenDrained != nil }

  /// Accepts nothing more, and says when nothing is under way.
  func drain(_ drained: @escaping () -> Void) {
    whenDrained = drained
    if jobs.count == 0 { drained() }
  }

  func endAll(_ error: WireError) {
    for job in jobs.all.waitingFirst { end(job, .failure(FetchFailure(error: error))) }
  }
}
