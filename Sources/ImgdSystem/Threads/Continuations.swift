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

/// Closures on a loop that wait for outcomes from other threads.
///
/// Such a closure need not be Sendable and never leaves its loop: it is kept under a ticket until the
/// job has put its outcome into the slot that the two share.
final class Continuations {
  /// Holds an outcome on its way from one thread to the other.
  final class Slot<Outcome: Sendable>: Sendable {
    private let content = Locked<Outcome?>(nil)

    func put(_ outcome: Outcome) { content.withLock { $0 = .some(outcome) } }
    fileprivate func take() -> Outcome? { content.withLock { $0.take() } }
  }

  /// Also referenced by the loop's mailbox, which may outlive this object.
  private final class Table { var waiting: [UInt64: () -> Void] = [:] }

  private let table = Table()
  private let finished: Mailbox<UInt64>
  private var lastTicket: UInt64 = 0

  init(on loop: EventLoop) throws(SystemFailure) {
    finished = try loop.makeMailbox { [table] in table.waiting.removeValue(forKey: $0)?() }
  }

  var count: Int { table.waiting.count }

  /// A slot for an outcome, and the function to call, on any thread, when the outcome is there.
  func expect<Outcome: Sendable>(_ then: @escaping (Outcome) -> Void) -> (
    slot: Slot<Outcome>, finish: @Sendable () -> Void
  ) {
    lastTicket += 1
    let (ticket, finished, slot) = (lastTicket, finished, Slot<Outcome>())
    table.waiting[ticket] = { if let outcome = slot.take() { then(outcome) } }
    return (slot, { finished.post(ticket) })
  }

  /// Forgets the waiting closures; later outcomes are ignored.
  func drop() {
    // Taken out before they are freed: a deinit of their captures may use this object.
    var dropped: [UInt64: () -> Void] = [:]
    swap(&dropped, &table.waiting)
  }
}
