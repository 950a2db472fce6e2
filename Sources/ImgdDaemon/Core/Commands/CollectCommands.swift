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
      cancel(session.fetches.running(inSlot: name), id: id, from: session)
    case .tag(let tag):
      cancel(mayEnd(session) { $0.request.tags.contains(tag) }, id: id, from: session)
    case .all:
      cancel(mayEnd(session) { _ in true }, id: id, from: session)
    }
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
    end([job], for: session)
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

  private func cancel(_ ended: [FetchJob], id: RequestID, from session: ClientSession) {
    end(ended, for: session)
    session.reply(id: id) { $0.field("cancelled", ended.count) }
  }

  private func mayEnd(
    _ session: ClientSession, where matches: (FetchJob) -> Bool
  ) -> [FetchJob] {
    jobs.all.filter { session.mayEnd($0) && matches($0) }
  }

  /// The lines of other connections leave at once, so that they are there before the answer.
  private func end(_ ended: [FetchJob], for session: ClientSession) {
    var others: [UInt64: ClientSession] = [:]
    for job in ended {
      for other in [job.session] + job.collectors.map(\.session) {
        if let other, other !== session { others[other.number] = other }
      }
    }
    for job in ended.waitingFirst { jobs.cancel(job) }
    for other in others.values { other.flush() }
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
        FetchJob.Collector(session: session, ticket: ticket, id: id, delivery: wait.delivery))
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
