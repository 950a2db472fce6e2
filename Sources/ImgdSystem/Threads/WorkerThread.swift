/// A worker thread that owns a tool and runs jobs with it, one after the other.
///
/// The tool is made on the thread and never leaves it, so it need not be Sendable: a database
/// connection, for example. Jobs and their outcomes are values that cross threads; the closure that
/// receives an outcome runs on the loop that owns the worker and never leaves it (`Continuations`).
package final class WorkerThread<Tool> {
  private typealias Job = @Sendable (Tool) -> Void

  private let queue: Locked<JobQueue<Job>>
  private let continuations: Continuations
  private let thread: Thread
  private let hasEnded = Locked(false)
  private var isStopped = false

  /// Starts the thread; `make` runs there, before any job.
  package init(name: String, on loop: EventLoop, _ make: @escaping @Sendable () -> Tool) throws(SystemFailure) {
    let queue = Locked(JobQueue<Job>())
    self.queue = queue
    continuations = try Continuations(on: loop)
    let hasEnded = self.hasEnded
    thread = try Thread(name: name) {
      let tool = make()
      while let job = queue.wait(for: { $0.next() }) { job(tool) }
      hasEnded.broadcast { $0 = true }
    }
  }

  /// The thread finishes the jobs that it has and then ends; their outcomes are dropped.
  deinit { close() }

  /// Jobs whose outcomes have not arrived on the loop yet.
  package var pending: Int { continuations.count }

  /// Runs `job` on the thread and then `then` on the loop, with the job's outcome.
  ///
  /// After `stop` neither of the two will run.
  package func submit<Outcome: Sendable>(
    _ job: @escaping @Sendable (Tool) -> Outcome, then: @escaping (Outcome) -> Void = { _ in }
  ) {
    guard !isStopped else { return }
    let (slot, finish) = continuations.expect(then)
    queue.signal {
      $0.jobs.append { tool in
        slot.put(job(tool))
        finish()
      }
    }
  }

  /// Calls `answered` on the loop as soon as the thread has finished its present job.
  ///
  /// The question goes before all waiting jobs, so a long queue does not delay the answer.
  package func askForLife(then answered: @escaping () -> Void) {
    guard !isStopped else { return }
    let (slot, finish) = continuations.expect { (_: Bool) in answered() }
    queue.signal {
      $0.questions.append { _ in
        slot.put(true)
        finish()
      }
    }
  }

  /// Waits until all jobs are done, and ends the thread; outcomes still on their way are dropped.
  package func stop() {
    close()
    thread.join()
  }

  /// Ends the thread like the other `stop`, for jobs that may block for ever: waits no longer than the
  /// limit, and returns whether all jobs are done. A thread that is still busy then is left to itself.
  package func stop(within limit: Duration) -> Bool {
    close()
    guard hasEnded.wait(until: .current + limit, for: { $0 ? true : nil }) != nil else { return false }
    thread.join()
    return true
  }

  private func close() {
    isStopped = true
    queue.broadcast { $0.isClosed = true }
    continuations.drop()
  }
}
