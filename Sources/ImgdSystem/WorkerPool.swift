/// A few threads for work that may wait or weigh: files, checksums, decoding.
///
/// A job and its outcome are values that cross threads; what is done with the outcome is not, and
/// never leaves home: the loop keeps it under a ticket until the outcome comes back.
package final class WorkerPool {
  private struct Queue: Sendable {
    var jobs: [@Sendable () -> Void] = []
    var head = 0
    var isClosed = false

    mutating func next() -> (@Sendable () -> Void)?? {
      guard head < jobs.count else { return isClosed ? .some(nil) : nil }
      let job = jobs[head]
      head += 1
      if head == jobs.count {
        jobs.removeAll(keepingCapacity: true)
        head = 0
      }
      return job
    }
  }

  private struct Returned: Sendable {
    let ticket: UInt64
    let outcome: any Sendable
  }

  private let queue = Locked(Queue())
  private var threads: [Thread] = []
  private var home: Mailbox<Returned>?
  private var continuations: [UInt64: (any Sendable) -> Void] = [:]
  private var nextTicket: UInt64 = 0

  /// A pool whose outcomes come home to `loop`.
  package init(name: String, threads count: Int, home loop: EventLoop) throws(SystemFailure) {
    home = try loop.makeMailbox { [unowned self] in receive($0) }
    for number in 1...count {
      let queue = self.queue
      threads.append(
        try Thread(name: "\(name)-\(number)") {
          while let job = queue.wait(for: { $0.next() }) { job() }
        })
    }
  }

  /// Jobs that have not come home yet.
  package var pending: Int { continuations.count }

  /// Runs `job` on a worker and then `then` on the loop, with the job's outcome.
  package func submit<Outcome: Sendable>(
    _ job: @escaping @Sendable () -> Outcome, then: @escaping (Outcome) -> Void
  ) {
    guard let home else { return }
    nextTicket += 1
    let ticket = nextTicket
    continuations[ticket] = { outcome in
      if let outcome = outcome as? Outcome { then(outcome) }
    }
    queue.signal {
      $0.jobs.append { home.post(Returned(ticket: ticket, outcome: job())) }
    }
  }

  /// Ends the threads when the jobs they have are done; outcomes not yet home are dropped.
  package func stop() {
    queue.broadcast { $0.isClosed = true }
    for thread in threads { thread.join() }
    threads = []
    continuations = [:]
  }

  private func receive(_ returned: Returned) {
    continuations.removeValue(forKey: returned.ticket)?(returned.outcome)
  }
}
