/// A few threads for work that may wait or weigh: files, checksums, decoding.
///
/// A job and its outcome are values that cross threads; what is done with the outcome is not, and
/// never leaves home: the loop keeps it under a ticket until the job has left its outcome in the
/// slot that the two share.
package final class WorkerPool {
  private typealias Job = @Sendable () -> Void

  private struct Queue: Sendable {
    var jobs = Fifo<Job>()
    var isClosed = false

    /// The next job; `.some(nil)` when there will be none, nil when there is none yet.
    mutating func next() -> Job?? {
      if let job = jobs.popFirst() { return job }
      return isClosed ? .some(nil) : nil
    }
  }

  /// What waits for outcomes; the loop's mailbox holds on to it, whether the pool lives or not.
  private final class Continuations {
    var waiting: [UInt64: () -> Void] = [:]

    func resume(_ ticket: UInt64) {
      waiting.removeValue(forKey: ticket)?()
    }
  }

  private let queue = Locked(Queue())
  private let continuations = Continuations()
  private let home: Mailbox<UInt64>
  private var threads: [Thread] = []
  private var lastTicket: UInt64 = 0

  /// A pool whose outcomes come home to `loop`.
  package init(name: String, threads count: Int, home loop: EventLoop) throws(SystemFailure) {
    home = try loop.makeMailbox { [continuations] in continuations.resume($0) }
    for number in 1...count {
      let queue = self.queue
      threads.append(
        try Thread(name: "\(name)-\(number)") {
          while let job = queue.wait(for: { $0.next() }) { job() }
        })
    }
  }

  /// A pool that goes lets its threads end by themselves; no outcome comes home any more.
  deinit {
    close()
  }

  /// Jobs that have not come home yet.
  package var pending: Int { continuations.waiting.count }

  /// Runs `job` on a worker and then `then` on the loop, with the job's outcome.
  ///
  /// A pool that has been stopped takes nothing: neither of the two will run.
  package func submit<Outcome: Sendable>(
    _ job: @escaping @Sendable () -> Outcome, then: @escaping (Outcome) -> Void
  ) {
    guard !threads.isEmpty else { return }
    lastTicket += 1
    let (ticket, home, slot) = (lastTicket, home, Locked<Outcome?>(nil))
    continuations.waiting[ticket] = {
      if let outcome = slot.withLock({ $0.take() }) { then(outcome) }
    }
    queue.signal {
      $0.jobs.append {
        let outcome = job()
        slot.withLock { $0 = .some(outcome) }
        home.post(ticket)
      }
    }
  }

  /// Waits until all jobs that were submitted are done, and ends the threads; outcomes that are not
  /// home yet are dropped.
  package func stop() {
    close()
    for thread in threads { thread.join() }
    threads = []
  }

  private func close() {
    queue.broadcast { $0.isClosed = true }
    // Taken out before they are let go: what they held may use the pool as it goes.
    var dropped: [UInt64: () -> Void] = [:]
    swap(&dropped, &continuations.waiting)
  }
}
