import Glibc
import ImgdSystem
import ImgdWire

extension Commands {
  /// Ends fetches before their time; their lines come before the answer to this.
  func cancel(_ target: CancelTarget, id: RequestID, from session: ClientSession) {
    switch target {
    case .receipt(let receipt): cancel(receipt, id: id, from: session)
    case .slot(let name):
      let jobs = session.slots[name]?.running ?? []
      cancel(jobs, id: id, from: session)
    case .tag(let tag):
      cancel(mayEnd(session) { $0.request.tags.contains(tag) }, id: id, from: session)
    case .all:
      cancel(mayEnd(session) { _ in true }, id: id, from: session)
    }
  }

  private func cancel(_ receipt: ReceiptID, id: RequestID, from session: ClientSession) {
    guard let job = pipeline.jobs[receipt] else {
      return answer(
        receipt, state: pipeline.hasEnded(receipt) ? "finished" : "unknown", id, session)
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

  private func cancel(_ jobs: [FetchJob], id: RequestID, from session: ClientSession) {
    end(jobs, for: session)
    session.reply(id: id) { $0.field("cancelled", jobs.count) }
  }

  private func mayEnd(
    _ session: ClientSession, where matches: (FetchJob) -> Bool
  ) -> [FetchJob] {
    pipeline.jobs.all.filter { session.mayEnd($0) && matches($0) }
  }

  /// The lines of other connections leave at once, so that they are there before the answer.
  private func end(_ jobs: [FetchJob], for session: ClientSession) {
    var others: [UInt64: ClientSession] = [:]
    for job in jobs {
      for other in [job.session] + job.collectors.map(\.session) {
        if let other, other !== session { others[other.number] = other }
      }
    }
    for job in jobs.waitingFirst { pipeline.cancel(job) }
    for other in others.values { other.flush() }
  }
}

extension ClientSession {
  /// A client may end what its own user began; root and the daemon's user may end anything.
  func mayEnd(_ job: FetchJob) -> Bool {
    peer.uid == job.uid || peer.uid == 0 || peer.uid == geteuid()
  }
}
