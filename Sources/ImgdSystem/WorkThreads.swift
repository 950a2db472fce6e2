/// Threads for work that may block for long, one piece at a time each. One begins when there is work for it and no other
/// is free, and ends when it has had none for a while; the caller limits their number.
package final class WorkThreads<Work: Sendable, Outcome: Sendable>: Sendable {
  private struct State: Sendable {
    var waiting = Fifo<Work>()
    /// Threads that wait, or are about to.
    var free = 0
    var isClosed = false

    /// Takes a free thread, for the next work or for its end.
    mutating func takeThread() -> Work? {
      free -= 1
      return waiting.popFirst()
    }
  }

  private let state = Locked(State())
  private let name: String
  private let patience: Duration
  private let carryOut: @Sendable (Work) -> Outcome
  private let report: @Sendable (Work, Outcome) -> Void

  /// A thread waits for the next work for as long as `patience`; `report` is called on the threads.
  package init(
    name: String, patience: Duration = .seconds(10), carryOut: @escaping @Sendable (Work) -> Outcome,
    report: @escaping @Sendable (Work, Outcome) -> Void
  ) {
    self.name = name
    self.patience = patience
    self.carryOut = carryOut
    self.report = report
  }

  /// Begins some work, which is reported once; fails where there is no thread for it.
  package func begin(_ work: Work) throws(SystemFailure) {
    let isTaken = state.signal { state in
      guard state.free > state.waiting.count else { return false }
      state.waiting.append(work)
      return true
    }
    if !isTaken { _ = try Thread(name: name) { [self] in carryOut(from: work) } }
  }

  /// Ends the threads, each after its present work, without waiting for them.
  package func close() { state.broadcast { $0.isClosed = true } }

  private func carryOut(from first: Work) {
    var next: Work? = first
    while let work = next {
      let outcome = carryOut(work)
      // Free before it reports: the report may bring the next work.
      state.withLock { $0.free += 1 }
      report(work, outcome)
      next = takeNext()
    }
  }

  private func takeNext() -> Work? {
    let found = state.wait(until: .current + patience) { state -> Work?? in
      guard !state.waiting.isEmpty || state.isClosed else { return nil }
      return .some(state.takeThread())
    }
    // Work may have arrived since the wait timed out.
    return found ?? state.withLock { $0.takeThread() }
  }
}
