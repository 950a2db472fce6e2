import ImgdSystem
import ImgdWire

/// `cancel` and `wait`: fetches that are ended before their time, and outcomes that are collected.
final class CollectCommands {
  private let jobs: FetchJobs
  private let answers: FetchAnswers
  private let access: Access

  init(_ parts: CoreParts) {
    jobs = parts.jobs
    answers = parts.answers
    access = parts.access
  }

  // MARK: Cancelling

  /// Ends fetches before their time; their lines come before the answer to this.
  func cancel(_ target: CancelTarget, id: RequestID, from client: ReplyPlace) {
    switch target {
    case .receipt(let receipt): cancel(receipt, id: id, from: client)
    case .slot(let name):
      let running = { [jobs] in jobs.fetches(of: client)?.running(inSlot: name) ?? JobRoll() }
      let part = { running().part(after: $0, most: $1) }
      cancel(upTo: running().newest, part, id: id, from: client) { _ in true }
    case .tag(let tag): cancel(tag: tag, id: id, from: client)
    case .all: cancel(tag: nil, id: id, from: client)
    }
  }

  private func cancel(tag: String?, id: RequestID, from client: ReplyPlace) {
    let part = { [jobs] in jobs.part(of: tag, after: $0, most: $1) }
    cancel(upTo: jobs.newest, part, id: id, from: client) { [unowned self] in mayEnd($0, client) }
  }

  private func cancel(_ receipt: ReceiptID, id: RequestID, from client: ReplyPlace) {
    guard let job = jobs[receipt] else {
      return answer(receipt, state: jobs.hasEnded(receipt) ? "finished" : "unknown", id, client)
    }
    guard mayEnd(job, client) else {
      return client.refuse(id: id, receipt: receipt, .notYours(receipt, owner: job.uid))
    }
    let state = job.state.rawValue
    let others = listeners(to: job, besides: client)
    jobs.cancel(job)
    for other in others { other.flush() }
    answer(receipt, state: state, id, client)
  }

  private func answer(_ receipt: ReceiptID, state: String, _ id: RequestID, _ client: ReplyPlace) {
    client.reply(id: id) { line in
      line.field("receipt", receipt)
      line.field("state", state)
    }
  }

  /// Ends the fetches that a `cancel` covers, in the turns of the client that has asked for it.
  private func cancel(
    upTo newest: UInt64, _ part: @escaping (_ number: UInt64, _ most: Int) -> MassEnding.Part, id: RequestID,
    from client: ReplyPlace, where isMeant: @escaping (FetchJob) -> Bool
  ) {
    // Their lines leave at once, so that they are there before the answer.
    var others: [UInt64: ReplyPlace] = [:]
    let ending = MassEnding(upTo: newest, part, where: isMeant) { [unowned self] job in
      for other in listeners(to: job, besides: client) { others[other.number] = other }
      jobs.cancel(job)
    }
    client.walk {
      let hasMore = ending.step()
      for other in others.values { other.flush() }
      others = [:]
      if hasMore { return true }
      client.reply(id: id) { $0.field("cancelled", ending.count) }
      return false
    }
  }

  /// The other connections that get a line when the fetch ends.
  private func listeners(to job: FetchJob, besides client: ReplyPlace) -> [ReplyPlace] {
    ([job.client] + job.collectors.map(\.openClient)).compactMap { $0 === client ? nil : $0 }
  }

  // MARK: Collecting

  /// Collects the outcome of a detached fetch, now or when it has ended.
  func wait(_ wait: WaitRequest, id: RequestID, from client: ReplyPlace) {
    if let job = jobs[wait.receipt] {
      guard mayEnd(job, client) else {
        return client.refuse(id: id, receipt: wait.receipt, .notYours(wait.receipt, owner: job.uid))
      }
      guard client.hasRoomToStandBy else {
        return client.refuse(id: id, receipt: wait.receipt, .tooManyReceipts(limit: client.limits.receipts))
      }
      let ticket = client.standBy(id: id, receipt: wait.receipt)
      return job.collectors.append(FetchJob.Collector(client: client, ticket: ticket, id: id, delivery: wait.delivery))
    }
    guard let kept = jobs.outcome(of: wait.receipt) else {
      return client.refuse(id: id, receipt: wait.receipt, .unknown(wait.receipt))
    }
    guard mayEnd(kept.job, client) else {
      return client.refuse(id: id, receipt: wait.receipt, .notYours(wait.receipt, owner: kept.job.uid))
    }
    answers.write(kept.outcome, to: Recipient(client, of: kept.job, id: id, delivery: wait.delivery))
  }

  private func mayEnd(_ job: FetchJob, _ client: ReplyPlace) -> Bool {
    access.mayEnd(workOf: job.uid, by: client.peer.uid)
  }
}
