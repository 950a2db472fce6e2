// What worker threads have in common: a queue that they wait at, and a way home for outcomes.

/// Jobs in the order in which they came, until there will be no more.
struct JobQueue<Job: Sendable>: Sendable {
  var jobs = Fifo<Job>()
  /// What goes before all jobs that wait: questions whether anybody is there.
  var questions = Fifo<Job>()
  var isClosed = false

  /// The next job; `.some(nil)` when there will be none, nil when there is none yet.
  mutating func next() -> Job?? {
    if let job = questions.popFirst() ?? jobs.popFirst() { return job }
    return isClosed ? .some(nil) : nil
  }
}

/// What waits on a loop for outcomes from other threads.
///
/// What is done with an outcome need not be Sendable and never leaves home: it is kept under a
/// ticket, until the job has left its outcome in the slot that the two share.
final class Continuations {
  /// Where an outcome lies until it is fetched.
  final class Slot<Outcome: Sendable>: Sendable {
    private let content = Locked<Outcome?>(nil)

    func put(_ outcome: Outcome) { content.withLock { $0 = .some(outcome) } }
    fileprivate func take() -> Outcome? { content.withLock { $0.take() } }
  }

  /// The loop's mailbox holds on to it, whether the one who submits lives or not.
  private final class Table {
    var waiting: [UInt64: () -> Void] = [:]
  }

  private let table = Table()
  private let home: Mailbox<UInt64>
  private var lastTicket: UInt64 = 0

  init(home loop: EventLoop) throws(SystemFailure) {
    home = try loop.makeMailbox { [table] in table.waiting.removeValue(forKey: $0)?() }
  }

  var count: Int { table.waiting.count }

  /// A slot for an outcome, and what to call on any thread when it is there.
  func expect<Outcome: Sendable>(
    _ then: @escaping (Outcome) -> Void
  ) -> (slot: Slot<Outcome>, finish: @Sendable () -> Void) {
    lastTicket += 1
    let (ticket, home, slot) = (lastTicket, home, Slot<Outcome>())
    table.waiting[ticket] = {
      if let outcome = slot.take() { then(outcome) }
    }
    return (slot, { home.post(ticket) })
  }

  /// Forgets what waits; outcomes that come find nobody.
  func drop() {
    // Taken out before they are let go: what they held may use this object as it goes.
    var dropped: [UInt64: () -> Void] = [:]
    swap(&dropped, &table.waiting)
  }
}
