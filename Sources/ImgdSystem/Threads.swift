internal import CLinux
import Glibc

/// A thread with a name; joined once, or detached when its owner is freed.
package final class Thread: Sendable {
  private let handle: Locked<pthread_t?>

  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemFailure) {
    let start = ThreadStart(name: name, body: body)
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, nil, runThread, Unmanaged.passRetained(start).toOpaque())
    guard code == 0 else {
      unsafe Unmanaged.passUnretained(start).release()
      throw SystemFailure("pthread_create", name, errno: code)
    }
    handle = Locked(thread)
  }

  deinit { if let thread = handle.withLock({ $0.take() }) { pthread_detach(thread) } }

  /// Waits until the thread has ended.
  package func join() {
    guard let thread = handle.withLock({ $0.take() }) else { return }
    pthread_join(thread, nil)
  }
}

private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
  unsafe linux_name_thread(start.name)
  let room = unsafe linux_reserve_stack()
  defer { unsafe linux_release_stack(room) }
  start.body()
  return nil
}

/// A thread that runs one loop. `build` runs on the new thread, makes everything that lives there, and returns the
/// one value that other threads may use to reach it, such as a mailbox. The caller waits for that value.
package final class LoopThread: Sendable {
  private let thread: Thread

  private init(_ thread: Thread) { self.thread = thread }

  /// Starts a thread with a loop of its own; returns the value that `build` has made there.
  package static func start<Entry: Sendable>(
    name: String, _ build: @escaping @Sendable (EventLoop) throws(SystemFailure) -> Entry
  ) throws(SystemFailure) -> (LoopThread, Entry) {
    let outcome = Locked<Result<Entry, SystemFailure>?>(nil)
    let thread = try Thread(name: name) {
      do throws(SystemFailure) {
        let loop = try EventLoop()
        defer { loop.close() }
        let entry = try build(loop)
        outcome.broadcast { $0 = .success(entry) }
        loop.run()
      } catch { outcome.broadcast { $0 = .failure(error) } }
    }
    do throws(SystemFailure) { return (LoopThread(thread), try outcome.wait { $0 }.get()) } catch {
      thread.join()
      throw error
    }
  }

  /// Waits until the thread has ended; its loop must have been stopped.
  package func join() { thread.join() }
}

/// A worker thread that owns a tool and runs jobs with it, one after the other. The tool, such as a database
/// connection, never leaves the thread, so it need not be Sendable. Jobs and outcomes cross threads; the closure that
/// receives an outcome never leaves the loop of the worker (`Continuations`).
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

  /// Runs `job` on the thread and then `then` on the loop, with the job's outcome. After `stop` neither runs.
  package func submit<Outcome: Sendable>(
    _ job: @escaping @Sendable (Tool) -> Outcome, then: @escaping (Outcome) -> Void = { _ in }
  ) {
    guard !isStopped else { return }
    let finish = continuations.expect(then)
    queue.signal { $0.jobs.append { tool in finish(job(tool)) } }
  }

  /// Calls `answered` on the loop as soon as the thread has finished its present job. The question goes before all
  /// waiting jobs, so a long queue does not delay the answer.
  package func askForLife(then answered: @escaping () -> Void) {
    guard !isStopped else { return }
    let finish = continuations.expect { (_: Bool) in answered() }
    queue.signal { $0.questions.append { _ in finish(true) } }
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

/// The queue of a worker thread: jobs in the order of arrival, until it is closed.
struct JobQueue<Job: Sendable>: Sendable {
  var jobs = Fifo<Job>()
  /// Questions whether the thread still responds; they come before all waiting jobs.
  var questions = Fifo<Job>()
  var isClosed = false

  /// The next job; `.some(nil)` when the queue is closed and empty, nil when there is none yet.
  mutating func next() -> Job?? {
    if let job = questions.popFirst() ?? jobs.popFirst() { return job }
    return isClosed ? .some(nil) : nil
  }
}

/// Closures on a loop that wait for outcomes from other threads. Such a closure need not be Sendable and never leaves
/// its loop: it is kept under a ticket until the job has put its outcome into the slot that the two share.
final class Continuations {
  /// Also referenced by the loop's mailbox, which may outlive this object.
  private final class Table { var waiting: [UInt64: () -> Void] = [:] }

  private let table = Table()
  private let finished: Mailbox<UInt64>
  private var lastTicket: UInt64 = 0

  init(on loop: EventLoop) throws(SystemFailure) {
    finished = try loop.makeMailbox { [table] in table.waiting.removeValue(forKey: $0)?() }
  }

  var count: Int { table.waiting.count }

  /// The function to call with the outcome, on any thread, when it is there.
  func expect<Outcome: Sendable>(_ then: @escaping (Outcome) -> Void) -> @Sendable (Outcome) -> Void {
    lastTicket += 1
    let (ticket, finished, slot) = (lastTicket, finished, Locked<Outcome?>(nil))
    table.waiting[ticket] = { if let outcome = slot.withLock({ $0.take() }) { then(outcome) } }
    return { outcome in
      slot.withLock { $0 = .some(outcome) }
      finished.post(ticket)
    }
  }

  /// Forgets the waiting closures; later outcomes are ignored.
  func drop() {
    // Taken out before they are freed: a deinit of their captures may use this object.
    var dropped: [UInt64: () -> Void] = [:]
    swap(&dropped, &table.waiting)
  }
}
