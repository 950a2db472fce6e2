import ImgdCache
import ImgdSystem
import ImgdWire

/// A pass over all hosts, and then over all fetches, after the network has come or gone.
struct NetworkReview {
  /// How many hosts or fetches are reviewed in one step.
  static let most = 64

  enum Stage {
    case hosts(after: UInt64)
    case fetches(after: UInt64)
    case over
  }

  private(set) var stage = Stage.over
  /// Later fetches know already.
  private(set) var newest: UInt64 = 0

  var isUnderWay: Bool { if case .over = stage { false } else { true } }

  /// Begins, from the start if it is under way; returns whether somebody has to carry it out.
  mutating func begin(upTo newest: UInt64) -> Bool {
    defer { stage = .hosts(after: 0) }
    self.newest = newest
    return !isUnderWay
  }

  /// Goes on after a number; without one the stage is over.
  mutating func move(to number: UInt64?) {
    switch (stage, number) {
    case (.hosts, let number?): stage = .hosts(after: number)
    case (.hosts, nil): stage = .fetches(after: 0)
    case (.fetches, let number?): stage = .fetches(after: number)
    case (.fetches, nil), (.over, _): stage = .over
    }
  }
}

extension FetchPipeline {
  /// Takes in that the last route out of this machine has gone, or that there is one again.
  func changeNetwork(isOffline: Bool) {
    guard downloader.changeReach(isOffline: isOffline) else { return }
    // Those names may be known now, or were asked for in vain.
    pictures.answers.unknownNames.removeAll()
    if review.begin(upTo: jobs.newest) { turns.carryOut { [unowned self] in goOnWithReview() } }
  }

  /// Reviews some hosts, or, when all of these are withheld, some of the fetches that wait for them; returns whether there
  /// is more to do. What waits starts when all hosts are offered.
  private func goOnWithReview() -> Bool {
    switch review.stage {
    case .hosts(let number):
      review.move(to: downloader.reviewHosts(after: number, most: NetworkReview.most))
      if case .fetches = review.stage { startTransfers() }
    case .fetches(let number):
      let part = jobs.part(after: number, most: NetworkReview.most)
      for job in part.members where job.number <= review.newest { withhold(job) }
      review.move(to: part.end)
    case .over: break
    }
    return review.isUnderWay
  }

  /// Has a fetch wait for the network from now on, if that has gone while it waited for its turn. What it was to have
  /// confirmed may be shown now, also while its origin is being asked, and a fetch that does not wait ends.
  private func withhold(_ job: FetchJob) {
    guard case .download(let place) = job.waitingFor, !downloader.reaches(place.download.askedURL),
      place.download.state == .queued || job.mayShowOffered(at: loop.now)
    else { return }
    let isWaiting = job.request.waitsOnline && job.machine.offered == nil
    guard !isWaiting else { return waitForNetwork(job) }
    if downloader.leave(place) { fleet.giveUp(place.download) }
    job.waitingFor = .disk
    carry(job, on: .settled(.interrupted))
  }

  /// Tells that a fetch waits for the network, and limits the time for which it does.
  func waitForNetwork(_ job: FetchJob) {
    job.isQueued = true
    if !job.isAnnounced { hub.job(job, .queued) }
    job.isAnnounced = true
    answers.tell("queued", of: job, held: .offline, waitingFor: .offline)
    if job.deadline == nil { expect(job, within: job.request.timeout ?? settings.downloads.timeout) }
  }
}
