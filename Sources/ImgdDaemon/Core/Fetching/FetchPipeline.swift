// Carries fetches out: memory → disk → fleet → origin → answer.
//
// `FetchMachine` says which step comes next. This takes the step, and has the fetch wait where that takes time.

import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class FetchPipeline: FetchPart {
  let ground: FetchGround
  let jobs: FetchJobs
  private let hits: PlainHits
  private let settlement: DownloadSettlement
  var settings: Configuration
  var review = NetworkReview()

  init(_ ground: FetchGround, jobs: FetchJobs, hits: PlainHits, settings: Configuration) {
    self.ground = ground
    self.jobs = jobs
    self.hits = hits
    self.settings = settings
    settlement = DownloadSettlement(ground, settings: settings)
  }

  func apply(_ settings: Configuration) {
    self.settings = settings
    settlement.apply(settings)
  }

  func begin(_ job: FetchJob) {
    if let handed = job.handed { copy(handed, for: job) } else { carry(job, on: .begun) }
  }

  /// Takes a fetch as far as it can go at once after an event.
  func carry(_ job: FetchJob, on event: FetchMachine.Event) {
    let circumstances = FetchMachine.Circumstances(
      now: loop.now, rules: FreshnessRules(settings.http), mostRedirects: settings.downloads.maxRedirects,
      isPurged: { [purges = pictures.purges] in purges.verdict(on: $0, in: .all) == .purged },
      keyURL: { [origins] in origins.key(of: $0) },
      isOffline: { [downloader] in !downloader.reaches($0) })
    var next: FetchMachine.Event? = event
    while let event = next { next = carryOut(job.machine.step(after: event, in: circumstances), for: job) }
  }

  /// Carries out a step and returns what came of it; nil where that comes later, or the fetch is over.
  private func carryOut(_ step: FetchMachine.Step, for job: FetchJob) -> FetchMachine.Event? {
    switch step {
    case .findMade: return findMade(for: job)
    case .find: return find(for: job)
    case .findForm(let found): return findForm(of: found, for: job)
    case .findBytes(let image): return findBytes(of: image, for: job)
    case .recall(let missesMemory):
      if missesMemory { pictures.memory.noteMiss() }
      return .recalled(recall(for: job))
    case .give(let answer, let confirmsLater):
      return give(answer, to: job, confirmsLater)
    case .giveOfFleet(let found):
      fleet.remember(found)
      return give(found.image, to: job, false)
    case .askFleet: return askFleet(for: job)
    case .claim(let stamp): return claim(stamp, for: job)
    case .showOfFleet(let found, let confirmsLater):
      fleet.rise(found)
      show(DeliveredImage(image: found.image, source: .fleet), to: job, confirmsLater)
    case .show(let found, let confirmsLater): show(found, to: job, confirmsLater)
    case .showHanded(let image): show(handedIn: image, to: job)
    case .download(let claim): return download(job, under: claim)
    case .end(let outcome): complete(job, outcome)
    }
    return nil
  }

  private func give(_ answer: CachedImage, to job: FetchJob, _ confirmsLater: Bool) -> FetchMachine.Event {
    if job.mode.counts {
      pictures.answers.noteUse(of: answer)
      pictures.answers.add(job.entryTags, to: answer)
    }
    if confirmsLater { confirm(answer, after: job) }
    return .given(answer)
  }

  /// What a look has found; a fetch that has to wait for it goes on from there, unless it is over by then.
  private func event<Found>(
    of job: FetchJob, _ event: @escaping (Found) -> FetchMachine.Event, look: (@escaping (Found) -> Void) -> Look<Found>
  ) -> FetchMachine.Event? {
    let found = look { [unowned self] found in if job.isLive { carry(job, on: event(found)) } }
    if case .now(let found) = found { return event(found) }
    wait(for: job)
    return nil
  }

  private func findMade(for job: FetchJob) -> FetchMachine.Event? {
    guard let look = lookForMade(of: job) else { return .made(nil) }
    return event(of: job, { .made($0) }, look: { made.find(look, then: $0) })
  }

  private func findForm(of found: DeliveredImage, for job: FetchJob) -> FetchMachine.Event? {
    // A client that has the picture needs neither its bytes nor a form.
    if found.source != .revalidated, job.mode.usesUnconfirmed, found.image.isFresh(at: loop.now),
      case .notModified = FetchOutcome(stored: found, under: job.mergeKey, at: loop.now)
    {
      return .formed(found, of: found)
    }
    guard let look = lookForMade(of: job) else { return .formed(nil, of: found) }
    return event(of: job, { .formed($0, of: found) }, look: { made.find(look, of: found, then: $0) })
  }

  private func findBytes(of image: CachedImage, for job: FetchJob) -> FetchMachine.Event? {
    event(
      of: job, { .found($0) },
      look: {
        pictures.findBytes(
          of: image, for: job.mergeKey, keeping: job.request.keepsInMemory, counts: job.mode.counts, then: $0)
      })
  }

  private func lookForMade(of job: FetchJob) -> MadeLook? {
    job.wanted.map {
      MadeLook(
        wanted: $0, writable: preparation.renditions.writable, key: job.mergeKey, mode: job.mode,
        rules: FreshnessRules(settings.http), describes: job.request.describe, tiers: job.request.tiers,
        mayMake: job.mayMakeOfForm)
    }
  }

  private func find(for job: FetchJob) -> FetchMachine.Event? {
    let counts = job.mode.counts && !isLedOn(job)
    return event(
      of: job,
      { [pictures] look in .found(pictures.rise(look, for: job.mergeKey, keeping: job.request.keepsInMemory)) },
      look: { pictures.find(job.mergeKey, counts: counts, then: $0) })
  }

  /// Whether a remembered redirect leads the fetch on: it is counted where that leads, and counts once.
  private func isLedOn(_ job: FetchJob) -> Bool {
    guard let answer = pictures.answers.find(job.mergeKey), answer.redirect != nil else { return false }
    let decision = job.mode.decision(
      on: answer.state(at: loop.now), rules: FreshnessRules(settings.http),
      isOffline: !downloader.reaches(job.route.url))
    return switch decision {
    case .use, .useStale, .useStaleAndRefresh: true
    case .confirm, .load, .refuse: false
    }
  }

  private func recall(for job: FetchJob) -> RecalledAnswer? {
    if job.mode.usesUnconfirmed, let known = pictures.answers.unknownNames.find(job.mergeKey.key, at: loop.now) {
      var failure = known.failure
      failure.error = failure.error.asCached(age: Int(known.age.components.seconds))
      return .unknownName(failure)
    }
    return job.mode.reads ? pictures.answers.find(job.mergeKey).map { .answer($0) } : nil
  }

  private func show(_ found: DeliveredImage, to job: FetchJob, _ confirmsLater: Bool) {
    if job.mode.counts {
      // The use of a form has been counted.
      if found.source == .memory, !found.isMade, found.form == nil, found.sourceForm == nil {
        pictures.memory.noteUse(of: found.image, at: loop.now)
      }
      _ = hits.recordHit()
      pictures.add(job.entryTags, to: found.image)
    }
    let shown = found.isMade ? found : found.asShown(at: loop.now)
    complete(job, FetchOutcome(stored: shown, under: job.mergeKey, at: loop.now))
    if confirmsLater { confirm(found.image, after: job) }
  }

  /// Has a stale answer confirmed after it was shown.
  private func confirm(_ stored: CachedImage, after job: FetchJob) {
    let key = job.mergeKey.unconditional
    guard !downloader.isUnderWay(key), !fleet.isLooking(for: key) else { return }
    let refresh = FetchJob(refreshing: job, receipt: hits.nextReceipt(), at: loop.now)
    jobs.begin(refresh)
    carry(refresh, on: .begunToConfirm(stored.isPicture ? stored : nil))
  }

  // MARK: The fleet

  /// Has the fetch wait for what other hosts may have, before the origin is asked.
  private func askFleet(for job: FetchJob) -> FetchMachine.Event? {
    if !job.mode.isForStored, let limit = job.owner?.limits.queued,
      let refusal = jobs.shares.refusal(ofWaiting: job, limit: limit)
    {
      complete(job, .failure(FetchFailure(error: refusal)))
      return nil
    }
    guard let place = fleet.lookUp(job.mergeKey, job.wish, then: carrying(job)) else { return .fleet(.nothing(nil)) }
    job.waitingFor = .fleet(place)
    wait(for: job)
    return nil
  }

  private func claim(_ stamp: UInt64, for job: FetchJob) -> FetchMachine.Event? {
    // Others must not wait for a host that has no way to the origin.
    guard downloader.reaches(job.route.url),
      let place = fleet.claim(stamp, for: job.mergeKey, job.wish, then: carrying(job))
    else { return .fleet(.nothing(nil)) }
    job.waitingFor = .fleet(place)
    return nil
  }

  private func carrying(_ job: FetchJob) -> (FleetFinding) -> Void {
    { [unowned self] finding in
      job.waitingFor = .disk
      carry(job, on: .fleet(finding))
    }
  }

  // MARK: Downloads

  private func download(_ job: FetchJob, under claim: FleetClaim?) -> FetchMachine.Event? {
    let isOffline = !downloader.reaches(job.route.url)
    if isOffline, !job.request.waitsOnline {
      return .settled(.ended(.failure(.offline(job.route.url.host))))
    }
    let stored = job.machine.offered ?? (job.mode.reads ? pictures.answers.find(job.mergeKey) : nil)
    let mayConfirm = stored?.response.canBeConfirmed == true && !job.mergeKey.hasCondition
    if !isOffline { announce(job) }
    let waiter = MergedDownload.Waiter(wish: job.wish) { [unowned self] download in attend(to: job, of: download) }
    let place = downloader.join(job.mergeKey, waiter, confirming: mayConfirm ? stored : nil)
    job.waitingFor = .download(place)
    job.isCoalesced = job.isCoalesced || place.isShared
    if place.isShared, job.machine.isMiss, !job.machine.wasInterrupted { pictures.memory.noteCoalesced() }
    fleet.attach(claim, to: place.download)
    if job.machine.leavesFleet { place.download.leavesFleet = true }
    startTransfers()
    if job.state == .running, job.isQueued { tellStarted(job) }
    if job.download?.hasHeaders == true { answers.tellProgress(of: job) }
    if isOffline, job.state == .queued { waitForNetwork(job) }
    wait(for: job)
    return nil
  }

  /// Takes in a report of the transfer loop.
  func receive(_ report: TransferReport) {
    guard let download = downloader.receive(report) else { return }
    // The picture is stored before any waiter is answered: with the answer, it is in the cache.
    if case .finished(_, let outcome) = report.event {
      download.settlement = settlement.settle(outcome, report.content, of: download)
    }
    attend(to: download)
    startTransfers()
  }

  func startTransfers() { for download in downloader.startReady() { attend(to: download) } }

  /// Brings all who wait for a download up to date with it: at once, or in parts if there are many.
  private func attend(to download: MergedDownload) {
    guard download.waiterCount > Turns.waitersAtOnce || download.round.isUnderWay else { return download.attend() }
    if download.round.begin() {
      turns.carryOut {
        for waiter in download.nextOfRound(most: Turns.waitersAtOnce) { waiter.attend(download) }
        return download.round.isUnderWay
      }
    }
  }

  private func attend(to job: FetchJob, of download: MergedDownload) {
    // The job may have ended along with one that was told before it.
    guard case .download(let place) = job.waitingFor, place.download === download else { return }
    if job.isQueued { tellStarted(job) }
    // The size may be right for others that wait.
    guard job.allowance.bytes >= download.size else {
      return jobs.end(job, .failure(FetchFailure(error: .tooLarge(limit: job.allowance.bytes))))
    }
    if download.hasHeaders { answers.tellProgress(of: job) }
    guard let settlement = download.settlement else { return }
    download.remove(at: place.number)
    job.waitingFor = .disk
    carry(job, on: .settled(settlement))
  }

  // MARK: Waiting

  /// Announces and acknowledges a job that does not end in the same call, and limits its time.
  func wait(for job: FetchJob) {
    announce(job)
    acknowledge(job, as: job.state)
    if let limit = job.request.timeout, job.deadline == nil { expect(job, within: limit) }
  }

  /// Tells, once, that the job has to wait for something.
  func announce(_ job: FetchJob) {
    guard !job.isAnnounced else { return }
    job.isAnnounced = true
    answers.tell(
      "queued", of: job, after: downloader.pause(of: job.route.url),
      held: downloader.isUnderWay(job.mergeKey) ? nil : downloader.hold(of: job.route.url))
    hub.job(job, .queued)
  }

  /// Answers a request that does not wait, once.
  func acknowledge(_ job: FetchJob, as state: FetchState) {
    if !job.request.wait, job.client != nil { jobs.acknowledge(job, as: state) }
  }

  /// Tells, once, that the job's transfer runs.
  func tellStarted(_ job: FetchJob) {
    job.isQueued = false
    if job.request.timeout == nil { expect(job, within: settings.downloads.timeout) }
    answers.tell("started", of: job)
    hub.job(job, .running)
  }

  /// Ends the job when the time is over, even if others have granted the transfer more.
  func expect(_ job: FetchJob, within limit: Duration) {
    job.deadline?.cancel()
    job.deadline = loop.schedule(after: limit) { [unowned self, unowned job] in
      // The picture may have come, and the job may be one of many that are about to get it.
      if let download = job.download, download.settlement != nil { return attend(to: job, of: download) }
      let error = phase(of: job).timeout(of: job.route.url.host, after: limit)
      let failure = FetchOutcome.failure(FetchFailure(error: error, isOfOrigin: true))
      let outcome = own(failure, of: job)
      // There is no time left to make a form of another.
      jobs.end(job, outcome.lacksBytes ? failure : outcome)
    }
  }

  /// An outcome as a job sees it; one that is stale says if its origin could not be asked.
  private func own(_ outcome: FetchOutcome, of job: FetchJob) -> FetchOutcome {
    if case .failure(let failure) = outcome, failure.isOfOrigin, let fallback = job.machine.fallback {
      pictures.add(job.entryTags, to: fallback.image)
    }
    let outcome = job.own(outcome, at: loop.now)
    return downloader.reaches(job.route.url) ? outcome : outcome.saidToBeOffline
  }

  private func phase(of job: FetchJob) -> WaitingPhase {
    switch job.waitingFor {
    case .disk, .file: .disk
    case .copy: .copy
    case .fleet: .fleet
    case .download(let place): downloader.phase(of: place.download)
    case .decoder: .decode
    }
  }

  /// Ends a job with its outcome, once that is in the form that is wanted.
  func complete(_ job: FetchJob, _ outcome: FetchOutcome) {
    let outcome = own(outcome, of: job)
    guard case .image(let delivered) = outcome else {
      acknowledge(job, as: outcome.state)
      return jobs.end(job, outcome)
    }
    if job.needsDecoder(for: delivered) {
      wait(for: job)
      // The transfer has met that deadline; a decoder has one of its own.
      if job.request.timeout == nil { job.deadline?.cancel() }
    } else {
      acknowledge(job, as: outcome.state)
    }
    preparation.prepare(delivered, for: job) { [unowned self] outcome, path in
      guard delivered.sourceForm != nil, job.mayMakeOfForm, outcome.isFailure || outcome.lacksBytes else {
        return jobs.end(job, outcome, path: path)
      }
      // Nothing could be made of another form: the picture itself has to come.
      job.mayMakeOfForm = false
      job.machine.forgetStored()
      carry(job, on: .formed(nil, of: delivered))
    }
  }
}
