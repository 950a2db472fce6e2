// The way of a fetch: request → key → memory → disk → decision → fleet → download.
//
// `fetch` takes a request as far as it goes at once. A plain hit ends there, in the same call,
// without a job and without leaving the loop. A request that has to wait becomes a `FetchJob`, and
// goes on in `receive` when its transfer has ended.

import ImgdCache
import ImgdConfiguration
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class FetchPipeline {
  private let pictures: PictureTiers
  private let downloader: Downloader
  private let fleet: FleetTier
  private let jobs: FetchJobs
  private let hits: PlainHits
  private let answers: FetchAnswers
  private let ready: ReadyAnswers
  private let settlement: DownloadSettlement
  private let made: MadePictures
  private let loop: EventLoop
  private(set) var settings: Configuration
  private var credentials: CredentialNames

  init(
    pictures: PictureTiers, downloader: Downloader, fleet: FleetTier, jobs: FetchJobs,
    hits: PlainHits, answers: FetchAnswers, made: MadePictures, hub: EventHub, loop: EventLoop,
    settings: Configuration
  ) {
    self.pictures = pictures
    self.downloader = downloader
    self.fleet = fleet
    self.jobs = jobs
    self.hits = hits
    self.answers = answers
    self.made = made
    self.loop = loop
    self.settings = settings
    credentials = CredentialNames(settings.http)
    ready = ReadyAnswers(
      pictures: pictures, hits: hits, answers: answers, hub: hub, loop: loop,
      mostRedirects: settings.downloads.maxRedirects)
    settlement = DownloadSettlement(
      pictures: pictures, downloader: downloader, fleet: fleet, loop: loop, settings: settings)
  }

  func apply(_ settings: Configuration) {
    self.settings = settings
    credentials = CredentialNames(settings.http)
    ready.mostRedirects = settings.downloads.maxRedirects
    settlement.apply(settings)
  }

  // MARK: At once

  /// Answers a fetch, or accepts it and answers later.
  func fetch(_ request: FetchRequest, id: RequestID, from client: ReplyPlace) {
    if !jobs.isDraining, ready.answer(request, id: id, to: client) { return }
    let digest = request.isPlain ? ready.digest(of: request, from: client) : nil
    if let digest, !jobs.isDraining, ready.answer(request, under: digest, id: id, to: client) {
      return
    }
    do throws(WireError) {
      try accept(request, digest, id: id, from: client)
    } catch {
      client.refuse(id: id, receipt: request.receipt, url: request.url, error)
    }
  }

  // MARK: Accepting

  /// `digest` is that of the URL as it was written, where it has been computed.
  private func accept(
    _ request: FetchRequest, _ digest: KeyDigest?, id: RequestID, from client: ReplyPlace
  ) throws(WireError) {
    guard !jobs.isDraining else { throw .shuttingDown }
    let url: CanonicalURL
    do throws(URLProblem) {
      url = try CanonicalURL.parse(request.url)
    } catch {
      let refusal = WireError.of(error)
      let target = FetchJobs.Refused(
        slot: request.slot, id: id, receipt: request.receipt, url: request.url)
      return jobs.refuse(target, refusal, to: client)
    }
    try check(request, from: client)
    let isAsWritten = url.text.utf8.elementsEqual(request.url.utf8)
    let mergeKey = MergeKey(
      request, url, uid: client.peer.uid, credentials: credentials,
      digest: isAsWritten ? digest : nil)
    let job = FetchJob(
      receipt: request.receipt ?? hits.nextReceipt(), id: id, request: request, url: url,
      mergeKey: mergeKey, uid: client.peer.uid, startedAt: loop.now,
      allowance: request.allowance(within: settings.downloads))
    job.client = client
    job.owner = client
    job.claimant = client.claimant
    jobs.makeRoom(for: job, on: client) { [unowned self] in begin(job, on: client) }
  }

  /// The receipt may have been used by another client while the slot was made free.
  private func begin(_ job: FetchJob, on client: ReplyPlace) {
    guard jobs[job.receipt] == nil else {
      return client.refuse(
        id: job.id, receipt: job.receipt, url: job.request.url, .duplicate(job.receipt))
    }
    jobs.begin(job, on: client)
    look(for: job)
  }

  /// Everything that refuses a request before it has any effect.
  private func check(_ request: FetchRequest, from client: ReplyPlace) throws(WireError) {
    if let receipt = request.receipt { try jobs.checkIsFree(receipt, for: client.peer.uid) }
    guard jobs.hasRoom(on: client, inSlot: request.slot) else {
      throw .tooManyReceipts(limit: client.limits.receipts)
    }
    if let refusal = jobs.shares.refusal(
      of: request.weight, from: client.claimant, client.limits)
    {
      throw refusal
    }
  }

  // MARK: Memory, then disk, then network

  /// What was made of a picture is looked for first: then the picture itself need not be read. A client's
  /// condition is about the picture itself.
  private func look(for job: FetchJob) {
    guard job.mode.reads else { return consider(nil, for: job) }
    guard !job.mergeKey.hasCondition,
      let wish = MadeLook(job, rules: FreshnessRules(settings.http))
    else {
      return lookForOriginal(job)
    }
    let then = { [unowned self] (found: DeliveredImage?) in
      if let found { hit(found, for: job) } else { lookForOriginal(job) }
    }
    let look = made.find(wish) { [unowned self] found in
      if jobs.isLive(job) { then(found) }
    }
    go(on: look, for: job, then)
  }

  /// Goes on with what was found, or accepts that the job waits for it.
  private func go<Found>(on look: Look<Found>, for job: FetchJob, _ then: (Found) -> Void) {
    switch look {
    case .now(let found): then(found)
    case .later: wait(for: job)
    }
  }

  private func lookForOriginal(_ job: FetchJob) {
    let look = pictures.find(job.mergeKey, counts: job.mode.counts) { [unowned self] look in
      // It may have been cancelled meanwhile.
      if jobs.isLive(job) { rise(look, for: job) }
    }
    go(on: look, for: job) { rise($0, for: job) }
  }

  /// Accepts that a job is not over in the same call.
  private func wait(for job: FetchJob) {
    jobs.announce(job)
    acknowledge(job, as: job.state)
    if let limit = job.request.timeout, job.deadline == nil { jobs.expect(job, within: limit) }
  }

  /// Answers a request that does not wait, once.
  private func acknowledge(_ job: FetchJob, as state: FetchJob.State) {
    if !job.request.wait, job.client != nil { jobs.acknowledge(job, as: state) }
  }

  private func rise(_ look: PictureTiers.EndedLook, for job: FetchJob) {
    consider(
      pictures.rise(look, for: job.mergeKey, keeping: job.request.keepsInMemory), for: job)
  }

  /// A stored picture is used, or confirmed, or loaded anew.
  private func consider(_ found: DeliveredImage?, for job: FetchJob) {
    let stored = found?.image.state(at: loop.now)
    switch job.mode.decision(on: stored, rules: FreshnessRules(settings.http)) {
    case .use, .useStale: if let found { hit(found, for: job) }
    case .useStaleAndRefresh:
      if let found {
        hit(found, for: job)
        refresh(found.image, after: job)
      }
    case .refuse: if !lookInFleet(for: job, offering: nil) { refuse(job) }
    case .confirm(let mayFallBack): load(job, confirming: found, mayFallBack: mayFallBack)
    case .load: load(job, confirming: nil, mayFallBack: false)
    }
  }

  private func hit(_ found: DeliveredImage, for job: FetchJob) {
    if job.mode.counts {
      if found.source == .memory, !found.isMade {
        pictures.memory.noteUse(of: found.image, at: loop.now)
      }
      _ = hits.recordHit()
    }
    let shown = found.isMade ? found : found.asShown(at: loop.now)
    endAtOnce(job, FetchOutcome(stored: shown, for: job, at: loop.now).own(of: job))
  }

  private func load(_ job: FetchJob, confirming found: DeliveredImage?, mayFallBack: Bool) {
    if found?.source == .memory { pictures.memory.noteMiss() }
    job.isMiss = job.mode.reads && !job.isRefresh && (found == nil || found?.source == .memory)
    if mayFallBack, let shown = found?.asShown(at: loop.now) {
      job.fallback = FetchOutcome(stored: shown, for: job, at: loop.now)
    }
    if recall(for: job) { return }
    if let limit = job.owner?.limits.queued,
      let refusal = jobs.shares.refusal(ofWaiting: job, limit: limit)
    {
      return endAtOnce(job, .failure(FetchFailure(error: refusal)))
    }
    if !lookInFleet(for: job, offering: found?.image) {
      download(job, offering: found?.image, under: nil)
    }
  }

  /// Has a stale answer confirmed after it was shown.
  private func refresh(_ stored: CachedImage, after job: FetchJob) {
    let key = job.mergeKey.unconditional
    guard !downloader.isUnderWay(key), !fleet.isLooking(for: key) else { return }
    let refresh = FetchJob(refreshing: job, receipt: hits.nextReceipt(), at: loop.now)
    jobs.begin(refresh)
    let found = stored.isPicture ? DeliveredImage(image: stored, source: .disk) : nil
    load(refresh, confirming: found, mayFallBack: false)
  }

  // MARK: The fleet

  /// Has the job wait for what other hosts may have, before the origin is asked; false where none is asked.
  private func lookInFleet(for job: FetchJob, offering stored: CachedImage?) -> Bool {
    let mark = pictures.purgeMark
    let looks = fleet.look(for: job) { [unowned self] finding in
      take(finding, for: job, offering: offer(stored, by: job, since: mark), mayClaim: true)
    }
    if looks { wait(for: job) }
    return looks
  }

  /// Claims what the fleet has, so that other hosts wait for what the origin says of it.
  private func replace(
    _ stamp: UInt64, for job: FetchJob, offering stored: CachedImage?, mayClaim: Bool
  ) {
    let mark = pictures.purgeMark
    let claims =
      mayClaim && !job.mode.isForStored
      && fleet.claim(stamp, for: job) { [unowned self] finding in
        take(finding, for: job, offering: offer(stored, by: job, since: mark), mayClaim: false)
      }
    if !claims { goOn(job, offering: stored, under: nil) }
  }

  /// What is offered to the origin, or stands in for it, as long as no purge can have been about it meanwhile.
  private func offer(_ stored: CachedImage?, by job: FetchJob, since mark: Int) -> CachedImage? {
    if pictures.isUnpurged(since: mark) { return stored }
    job.fallback = nil
    job.fallbackAnswer = nil
    return nil
  }

  private func take(
    _ finding: FleetFinding, for job: FetchJob, offering stored: CachedImage?, mayClaim: Bool
  ) {
    switch finding {
    case .nothing(let claim): goOn(job, offering: stored, under: claim)
    case .nothingEarlier: lookForOriginal(job)
    case .replaceable(let stamp):
      replace(stamp, for: job, offering: stored, mayClaim: mayClaim)
    case .picture(let found) where newer(found.image, stored) === found.image:
      consider(found, for: job, mayClaim: mayClaim)
    case .picture(let found):
      replace(found.stamp, for: job, offering: stored, mayClaim: mayClaim)
    }
  }

  /// A picture of the fleet is used, or confirmed.
  private func consider(_ found: FleetFound, for job: FetchJob, mayClaim: Bool) {
    let delivered = DeliveredImage(image: found.image, source: .fleet)
    switch job.decision(on: found.image.state(at: loop.now), FreshnessRules(settings.http)) {
    case .use, .useStale: show(found, as: delivered, to: job)
    case .useStaleAndRefresh:
      show(found, as: delivered, to: job)
      refresh(found.image, after: job)
    case .confirm where found.image.isPurged:
      replace(found.stamp, for: job, offering: nil, mayClaim: mayClaim)
    case .confirm(let mayFallBack):
      if mayFallBack {
        let shown = delivered.asShown(at: loop.now)
        job.fallback = FetchOutcome(stored: shown, for: job, at: loop.now)
      }
      replace(found.stamp, for: job, offering: found.image, mayClaim: mayClaim)
    case .load, .refuse: goOn(job, offering: nil, under: nil)
    }
  }

  private func show(_ found: FleetFound, as delivered: DeliveredImage, to job: FetchJob) {
    fleet.rise(found)
    hit(delivered, for: job)
  }

  private func goOn(_ job: FetchJob, offering stored: CachedImage?, under claim: FleetClaim?) {
    if job.mode.isForStored { return refuse(job) }
    download(job, offering: stored, under: claim)
  }

  // MARK: Answers that are no pictures

  /// Ends a job that must not be transferred.
  private func refuse(_ job: FetchJob) {
    guard !recall(for: job) else { return }
    endAtOnce(job, .failure(FetchFailure(error: .notCached(job.route.url.text, job.mode))))
  }

  /// Gives the answer that the origin gave before, if that may be shown; otherwise it has to be asked.
  private func recall(for job: FetchJob) -> Bool {
    if job.mode.usesUnconfirmed, let known = pictures.answers.unknownName(job.mergeKey.key) {
      var failure = known.failure
      failure.error = failure.error.asCached(age: Int(known.age.components.seconds))
      endAtOnce(job, FetchOutcome.failure(failure).own(of: job))
      return true
    }
    guard job.mode.reads, let answer = pictures.answers.find(job.mergeKey) else { return false }
    let state = answer.state(at: loop.now)
    switch job.mode.decision(on: state, rules: FreshnessRules(settings.http)) {
    case .use: break
    // A failure of any age is not what those want who take pictures of any age.
    case .useStale: guard answer.redirect != nil else { return false }
    case .useStaleAndRefresh: refresh(answer, after: job)
    case .confirm(let mayFallBack):
      if mayFallBack { job.fallbackAnswer = answer }
      return false
    case .load, .refuse: return false
    }
    give(answer, to: job)
    return true
  }

  /// Goes on where a remembered answer leads, or ends with it.
  func give(_ answer: CachedImage, to job: FetchJob) {
    if job.mode.counts { pictures.answers.noteUse(of: answer) }
    if let redirect = answer.redirect { return follow(redirect, for: job) }
    let failure = FetchFailure(remembered: answer, at: loop.now)
    endAtOnce(job, FetchOutcome.failure(failure).own(of: job))
  }

  /// Ends a job that never had to wait for a transfer.
  private func endAtOnce(_ job: FetchJob, _ outcome: FetchOutcome) {
    if case .image(let found) = outcome, job.needsDecoder(for: found) {
      wait(for: job)
    } else {
      acknowledge(job, as: outcome.state)
    }
    jobs.complete(job, outcome)
  }

  private func download(
    _ job: FetchJob, offering image: CachedImage?, under claim: FleetClaim?
  ) {
    let stored = image ?? (job.mode.reads ? pictures.answers.find(job.mergeKey) : nil)
    let mayConfirm = stored?.response.canBeConfirmed == true && !job.mergeKey.hasCondition
    jobs.announce(job)
    let isShared = downloader.join(job, confirming: mayConfirm ? stored : nil)
    if isShared, job.isMiss { pictures.memory.noteCoalesced() }
    if let download = job.download { fleet.attach(claim, to: download) }
    jobs.startTransfers()
    if job.state == .running, job.isQueued { jobs.tellStarted(job) }
    if job.download?.hasHeaders == true { answers.tellProgress(of: job) }
    acknowledge(job, as: job.state)
    if let limit = job.request.timeout, job.deadline == nil { jobs.expect(job, within: limit) }
  }

  /// Looks for what a redirect leads to, as for any other URL.
  func follow(_ redirect: Redirect, for job: FetchJob) {
    do throws(WireError) {
      try job.follow(redirect, atMost: settings.downloads.maxRedirects)
      look(for: job)
    } catch {
      endAtOnce(job, .failure(FetchFailure(error: error)))
    }
  }

  // MARK: Reports of transfers

  /// Takes in a report of the transfer loop.
  func receive(_ report: TransferReport) {
    guard let download = downloader.take(report) else { return }
    // The picture is stored before any waiter is answered: with the answer, it is in the cache.
    if case .finished(_, let outcome) = report.event {
      download.settlement = settlement.settle(outcome, report.content, of: download)
    }
    jobs.attend(to: download)
    jobs.startTransfers()
  }
}
