import Glibc
import ImgdSystem
import ImgdWire

/// `cancel` and `wait`: fetches that are ended before their time, and outcomes that are collected.
final class CollectCommands {
  private let jobs: FetchJobs
  private let answers: FetchAnswers

  init(jobs: FetchJobs, answers: FetchAnswers) {
    self.jobs = jobs
    self.answers = answers
  }

  // MARK: Cancelling

  /// Ends fetches before their time; their lines come before the answer to this.
  func cancel(_ target: CancelTarget, id: RequestID, from session: ClientSession) {
    switch target {
    case .receipt(let receipt): cancel(receipt, id: id, from: session)
    case .slot(let name):
      let newest = session.fetches.running(inSlot: name).newest
      let running = { session.fetches.running(inSlot: name).part(after: $0, most: $1) }
      cancel(upTo: newest, running, id: id, from: session) { _ in true }
    case .tag(let tag): cancel(tag: tag, id: id, from: session)
    case .all: cancel(tag: nil, id: id, from: session)
    }
  }

  private func cancel(tag: String?, id: RequestID, from session: ClientSession) {
    let part = { [jobs] in jobs.part(of: tag, after: $0, most: $1) }
    cancel(upTo: jobs.newest, part, id: id, from: session) { session.mayEnd($0) }
  }

  private func cancel(_ receipt: ReceiptID, id: RequestID, from session: ClientSession) {
    guard let job = jobs[receipt] else {
      return answer(
        receipt, state: jobs.hasEnded(receipt) ? "finished" : "unknown", id, session)
    }
    guard session.mayEnd(job) else {
      return session.refuse(id: id, receipt: receipt, .notYours(receipt, owner: job.uid))
    }
    let state = job.state.rawValue
    let others = listeners(to: job, besides: session)
    jobs.cancel(job)
    for other in others { other.flush() }
    answer(receipt, state: state, id, session)
  }

  private func answer(
    _ receipt: ReceiptID, state: String, _ id: RequestID, _ session: ClientSession
  ) {
    session.reply(id: id) { line in
      line.field("receipt", receipt)
      line.field("state", state)
    }
  }

  /// Ends those that are meant, in the turns of the client that has asked for it.
  private func cancel(
    upTo newest: UInt64, _ part: @escaping (_ number: UInt64, _ most: Int) -> MassEnding.Part,
    id: RequestID, from session: ClientSession, where isMeant: @escaping (FetchJob) -> Bool
  ) {
    // Their lines leave at once, so that they are there before the answer.
    var others: [UInt64: ClientSession] = [:]
    let ending = MassEnding(upTo: newest, part, where: isMeant) { [unowned self] job in
      for other in listeners(to: job, besides: session) { others[other.number] = other }
      jobs.cancel(job)
    }
    session.walk {
      let hasMore = ending.step()
      for other in others.values { other.flush() }
      others = [:]
      if hasMore { return true }
      session.reply(id: id) { $0.field("cancelled", ending.count) }
      return false
    }
  }

  /// The other connections that get a line when the fetch ends.
  private func listeners(to job: FetchJob, besides session: ClientSession) -> [ClientSession] {
    ([job.session] + job.collectors.map(\.client.session)).compactMap { $0 === session ? nil : $0 }
  }

  // MARK: Collecting

  /// Collects the outcome of a detached fetch, now or when it has ended.
  func wait(_ wait: WaitRequest, id: RequestID, from session: ClientSession) {
    if let job = jobs[wait.receipt] {
      guard session.mayEnd(job) else {
        return session.refuse(
          id: id, receipt: wait.receipt, .notYours(wait.receipt, owner: job.uid))
      }
      guard session.hasRoomToStandBy else {
        return session.refuse(
          id: id, receipt: wait.receipt, .tooManyReceipts(limit: session.limits.receipts))
      }
      let ticket = session.standBy(id: id, receipt: wait.receipt)
      return job.collectors.append(
        FetchJob.Collector(
          client: session.reference, ticket: ticket, id: id, delivery: wait.delivery))
    }
    guard let kept = jobs.outcome(of: wait.receipt) else {
      return session.refuse(id: id, receipt: wait.receipt, .unknown(wait.receipt))
    }
    guard session.mayEnd(kept.job) else {
      return session.refuse(
        id: id, receipt: wait.receipt, .notYours(wait.receipt, owner: kept.job.uid))
    }
    answers.write(
      kept.outcome, to: Recipient(session, of: kept.job, id: id, delivery: wait.delivery))
  }
}

extension ClientSession {
  /// A client may end what its own user began; root and the daemon's user may end anything.
  func mayEnd(_ job: FetchJob) -> Bool {
    peer.uid == job.uid || peer.uid == 0 || peer.uid == geteuid()
  }
}
