/// A thread that owns a tool, and does with it what it is asked to, one job after the other.
///
/// The tool is made on the thread and never leaves it, so it need not be Sendable: a connection to a
/// database, say. Jobs and their outcomes are values; what is done with an outcome stays at home, as
/// with a `WorkerPool`.
package final class Workshop<Tool> {
  private typealias Job = @Sendable (Tool) -> Void

  private let queue: Locked<JobQueue<Job>>
  private let continuations: Continuations
  private let thread: Thread
  private let hasEnded = Locked(false)
  private var isStopped = false

  /// Starts the thread; `make` runs there, before any job.
  package init(
    name: String, home loop: EventLoop, _ make: @escaping @Sendable () -> Tool
  ) throws(SystemFailure) {
    let queue = Locked(JobQueue<Job>())
    self.queue = queue
    continuations = try Continuations(home: loop)
    let hasEnded = self.hasEnded
    thread = try Thread(name: name) {
      let tool = make()
      while let job = queue.wait(for: { $0.next() }) { job(tool) }
      hasEnded.broadcast { $0 = true }
    }
  }

  /// A workshop that goes lets its thread end by itself, after the jobs that it has.
  deinit {
    queue.broadcast { $0.isClosed = true }
  }

  /// Jobs that have not come home yet.
  package var pending: Int { continuations.count }

  /// Runs `job` on the thread and then `then` on the loop, with the job's outcome.
  ///
  /// A workshop that has been stopped takes nothing: neither of the two will run.
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

  /// Calls `answered` on the loop when the thread comes to its next job, whatever waits already.
  ///
  /// However long the queue is, the answer takes no longer than the job that is being done.
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

  /// Waits until all jobs are done, and ends the thread; outcomes that are not home are dropped.
  package func stop() {
    close()
    thread.join()
  }

  /// The same, for jobs that may block for ever: waits no longer than the limit, and answers whether
  /// all jobs are done. A thread that is still busy then is left to itself.
  package func stop(within limit: Duration) -> Bool {
    close()
    guard hasEnded.wait(until: .current + limit, for: { $0 ? true : nil }) != nil else {
      return false
    }
    thread.join()
    return true
  }

  private func close() {
    isStopped = true
    queue.broadcast { $0.isClosed = true }
    continuations.drop()
  }
}
