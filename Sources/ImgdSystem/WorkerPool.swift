/// A few threads for work that may wait or weigh: files, checksums, decoding.
///
/// A job and its outcome are values that cross threads; what is done with the outcome is not, and
/// never leaves home (`Continuations`).
package final class WorkerPool {
  private typealias Job = @Sendable () -> Void

  private let queue = Locked(JobQueue<Job>())
  private let continuations: Continuations
  private var threads: [Thread] = []

  /// A pool whose outcomes come home to `loop`.
  package init(name: String, threads count: Int, home loop: EventLoop) throws(SystemFailure) {
    continuations = try Continuations(home: loop)
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
  package var pending: Int { continuations.count }

  /// Runs `job` on a worker and then `then` on the loop, with the job's outcome.
  ///
  /// A pool that has been stopped takes nothing: neither of the two will run.
  package func submit<Outcome: Sendable>(
    _ job: @escaping @Sendable () -> Outcome, then: @escaping (Outcome) -> Void
  ) {
    guard !threads.isEmpty else { return }
    let (slot, finish) = continuations.expect(then)
    queue.signal {
      $0.jobs.append {
        slot.put(job())
        finish()
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
    continuations.drop()
  }
}
