// The one way through: request → key → memory → disk → network → store → reply.
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
  let disk: DiskTier
  let downloader: Downloader
  let hub: EventHub
  let loop: EventLoop
  private(set) var settings: Configuration
  private(set) var jobs = JobRegistry()
  private(set) var outcomes: Outcomes
  /// What origins have said is not there.
  var negatives = NegativeCache<FetchFailure>()
  /// What is being read from disk when memory is emptied is not put into it afterwards.
  var memoryPurges = 0
  /// Told when a purge has taken pictures from memory: nobody else shall hold them for us.
  var onMemoryPurge: () -> Void = {}
  var receipts = ReceiptSource()
  /// What the memory tier may use of its capacity, since memory was last short.
  private var memoryShare = MemoryShare.whole
  var hitLatency = LatencyHistogram()
  private(set) var fetchLatency = LatencyHistogram()
  private var whenDrained: (() -> Void)?

  init(
    memory: MemoryTier, disk: DiskTier, downloader: Downloader, hub: EventHub, loop: EventLoop,
    settings: Configuration
  ) {
    self.memory = memory
    self.disk = disk
    self.downloader = downloader
    self.hub = hub
    self.loop = loop
    self.settings = settings
    outcomes = Outcomes(mostBytes: settings.memory.capacity / 4)
    downloader.onNews = { [unowned self] download, news in take(news, of: download) }
    disk.onNews = { [unowned hub] in hub.tell($0) }
  }

  func apply(_ settings: Configuration) {
    // Each has been promised its own time; who changes that does not want to wait for its end.
    if settings.http.negativeFreshness != self.settings.http.negativeFreshness {
      negatives = NegativeCache()
    }
    self.settings = settings
    outcomes.mostBytes = settings.memory.capacity / 4
    downloader.apply(settings.downloads)
    limitMemory()
    disk.apply(DiskTier.Limits(settings.disk))
  }

  /// Holds the memory tier to a share of its capacity.
  func holdMemory(to share: MemoryShare) {
    memoryShare = share
    limitMemory()
  }

  private func limitMemory() {
    let limits = MemoryTier.Limits(settings.memory).held(to: memoryShare)
    hub.cache(.evicted, memory.apply(limits))
  }

  // MARK: In

  /// Answers a fetch, or accepts it and answers later.
  func fetch(_ request: FetchRequest, id: RequestID, from session: ClientSession) {
    if answerPlainHit(request, id: id, to: session) { return }
    if answerPlainDiskHit(request, id: id, to: session) { return }
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
    var path = FetchReply.Path.notWanted
    if request.delivery == .path {
      let lending = disk.lend(image, mayStore: request.keepsOnDisk)
      if lending == .waiting { return false }
      path = FetchReply.Path(lending)
    }
    keepReply(with: image)
    let receipt = receipts.next()
    let elapsed = Instant.current.nanoseconds - loop.now.nanoseconds
    hitLatency.record(elapsed)
    var reply = FetchReply(
      delivered: DeliveredImage(image: image, source: .memory), id: id, receipt: receipt,
      request: request, delivery: request.delivery, elapsedNanoseconds: elapsed, now: loop.now)
    reply.path = path
    if let line = reply.asHitLine { session.write(line) } else { deliver(reply, to: session) }
    hub.job(receipt, url: request.url, .done)
    return true
  }

  private func keepReply(with image: CachedImage) {
    guard image.replyPieces == nil else { return }
    hub.cache(.evicted, memory.keepReply(FetchReply.pieces(of: image), with: image))
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

  // MARK: Memory, then disk, then network

  private func proceed(_ job: FetchJob) {
    guard job.request.cache.reads else { return consider(nil, for: job) }
    if let found = memory.peek(job.mergeKey.key), found.isFor(job) {
      return consider(DeliveredImage(image: found, source: .memory), for: job)
    }
    memory.noteMiss()
    let purges = memoryPurges
    let fetching = disk.fetch(job.mergeKey.key) { [unowned self] image in
      // Who asked may have left.
      guard jobs[job.receipt] === job else { return }
      foundOnDisk(image, for: job, mayKeep: purges == memoryPurges)
    }
    switch fetching {
    case .nothing: consider(nil, for: job)
    case .image(let image): foundOnDisk(image, for: job, mayKeep: true)
    case .later:
      announce(job)
      if !job.request.wait { acknowledge(job, as: job.state) }
      if let limit = job.request.timeout { expect(job, within: limit) }
    }
  }

  /// A disk hit goes into memory, unless it, or something newer, has got there meanwhile.
  private func foundOnDisk(_ found: CachedImage?, for job: FetchJob, mayKeep: Bool) {
    if let there = memory.peek(job.mergeKey.key), there.isFor(job) {
      return consider(DeliveredImage(image: there, source: .memory), for: job)
    }
    guard let found, found.isFor(job) else { return consider(nil, for: job) }
    if job.request.keepsInMemory, mayKeep { storeInMemory(found) }
    consider(DeliveredImage(image: found, source: .disk), for: job)
  }

  /// What is stored is used, or confirmed, or loaded anew.
  private func consider(_ found: DeliveredImage?, for job: FetchJob) {
    let policy = CachePolicy(job.request.cache)
    let stored = found?.image.state(at: loop.now)
    switch policy.decision(on: stored, rules: FreshnessRules(settings.http)) {
    case .use, .useStale: if let found { hit(found, for: job) }
    case .useStaleAndRefresh:
      if let found {
        hit(found, for: job)
        refresh(found, after: job)
      }
    case .refuse: endAtOnce(job, .failure(FetchFailure(error: .notCached(job.url.text))))
    case .confirm(let mayFallBack): load(job, confirming: found, mayFallBack: mayFallBack)
    case .load: load(job, confirming: nil, mayFallBack: false)
    }
  }

  private func hit(_ found: DeliveredImage, for job: FetchJob) {
    if found.source == .memory { memory.noteUse(of: found.image, at: loop.now) }
    hitLatency.record(Instant.current.nanoseconds - loop.now.nanoseconds)
    endAtOnce(job, FetchOutcome.image(asShown(found)).own(of: job))
  }

  private func asShown(_ found: DeliveredImage) -> DeliveredImage {
    var shown = found
    shown.isStale = !found.image.isFresh(at: loop.now)
    return shown
  }

  private func load(_ job: FetchJob, confirming found: DeliveredImage?, mayFallBack: Bool) {
    if found?.source == .memory { memory.noteMiss() }
    if mayFallBack { job.fallback = found.map(asShown) }
    if let failure = knownFailure(for: job) {
      return endAtOnce(job, FetchOutcome.failure(failure).own(of: job))
    }
    let limit = job.owner?.limits.queued ?? .max
    guard jobs.count <= limit else {
      return endAtOnce(job, .failure(FetchFailure(error: .queueFull(limit: limit))))
    }
    let mayConfirm = found?.image.response.canBeConfirmed == true && !job.mergeKey.hasCondition
    download(job, confirming: mayConfirm ? found?.image : nil)
  }

  /// Asks the origin behind the back of who has had a stale answer.
  private func refresh(_ found: DeliveredImage, after job: FetchJob) {
    guard !downloader.isUnderWay(job.mergeKey) else { return }
    let refresh = FetchJob(refreshing: job, receipt: receipts.next(), at: loop.now)
    jobs.add(refresh)
    load(refresh, confirming: found, mayFallBack: false)
  }

  /// Ends a job that never had to wait for a transfer.
  private func endAtOnce(_ job: FetchJob, _ outcome: FetchOutcome) {
    if !job.request.wait { acknowledge(job, as: outcome.state) }
    complete(job, outcome)
  }

  private func download(_ job: FetchJob, confirming stored: CachedImage?) {
    announce(job)
    downloader.join(job, confirming: stored)
    if job.state == .running, job.isQueued { tellStarted(job) }
    if job.download?.hasHeaders == true { tellProgress(of: job) }
    if !job.request.wait { acknowledge(job, as: job.state) }
    if let limit = job.request.timeout, job.deadline == nil { expect(job, within: limit) }
  }

  /// Tells, once, that the job has to wait for something.
  private func announce(_ job: FetchJob) {
    guard !job.isAnnounced else { return }
    job.isAnnounced = true
    if job.request.events { tell(job, "queued") }
    hub.job(job.receipt, url: job.url.text, .queued)
  }

  /// Ends the job when the time is over, whatever longer time another grants the transfer.
  func expect(_ job: FetchJob, within limit: Duration) {
    job.deadline = loop.schedule(after: limit) { [unowned self, unowned job] in
      let failure = FetchFailure(error: .timedOut(after: limit), isOfOrigin: true)
      end(job, FetchOutcome.failure(failure).own(of: job))
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

  // MARK: Out

  /// Ends a job, when its picture is a file if that is what it wants.
  func complete(_ job: FetchJob, _ outcome: FetchOutcome) {
    guard case .image(let delivered) = outcome, job.wantsPath,
      disk.lend(delivered.image, mayStore: job.request.keepsOnDisk) == .waiting
    else { return end(job, outcome) }
    job.isStoring = true
    disk.whenSettled(delivered.image) { [unowned self] in
      // It may have been cancelled meanwhile, or its time may be over.
      if jobs[job.receipt] === job { end(job, outcome) }
    }
  }

  /// The only way out for a job: off every table, its line written, its collectors served.
  func end(_ job: FetchJob, _ outcome: FetchOutcome) {
    // A connection that breaks while many jobs are being ended ends those of its own.
    guard jobs[job.receipt] === job else { return }
    downloader.leave(job)
    job.deadline?.cancel()
    // The job may be kept for long with its outcome, which has paid for its own bytes alone.
    job.fallback = nil
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
      guard let session = collector.session else { continue }
      session.resume(collector.ticket) {
        answer(outcome, of: job, to: session, id: collector.id, as: collector.delivery)
      }
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
