import ImgdSystem
import ImgdWire

extension Commands {
  /// Collects the outcome of a fetch that nobody stayed for, now or when it is there.
  func wait(_ wait: WaitRequest, id: RequestID, from session: ClientSession) {
    if let job = pipeline.jobs[wait.receipt] {
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
    guard let kept = pipeline.outcome(of: wait.receipt) else {
      return session.refuse(id: id, receipt: wait.receipt, .unknown(wait.receipt))
    }
    guard session.mayEnd(kept.job) else {
      return session.refuse(
        id: id, receipt: wait.receipt, .notYours(wait.receipt, owner: kept.job.uid))
    }
    pipeline.answer(
      kept.outcome, of: kept.job, to: session, id: id, as: wait.delivery)
  }
}
