internal import ImgdSystem

/// Threads that ask the system for addresses, one name at a time each.
///
/// A thread begins when there is a name for it and no other is free, and ends when it has had no name
/// for a while. How many there are is up to the caller, who knows how many names are under way.
final class LookupThreads: Sendable {
  private struct State: Sendable {
    var names = Fifo<String>()
    /// Threads that wait, or are about to.
    var free = 0
    var isClosed = false

    /// Takes a free thread, for the next name or for its end.
    mutating func takeThread() -> String? {
      free -= 1
      return names.popFirst()
    }
  }

  private let state = Locked(State())
  private let patience: Duration
  private let lookUp: @Sendable (String) -> NameAnswer
  private let report: @Sendable (String, NameAnswer) -> Void

  /// A thread waits for the next name for as long as `patience`; `report` is called on the threads.
  init(
    patience: Duration = .seconds(10), lookUp: @escaping @Sendable (String) -> NameAnswer,
    report: @escaping @Sendable (String, NameAnswer) -> Void
  ) {
    self.patience = patience
    self.lookUp = lookUp
    self.report = report
  }

  func begin(_ name: String) {
    let isTaken = state.signal { state in
      guard state.free > state.names.count else { return false }
      state.names.append(name)
      return true
    }
    guard !isTaken else { return }
    do throws(SystemFailure) { _ = try Thread(name: "imgd-names") { [self] in work(on: name) } } catch {
      report(name, .shortage(error.description))
    }
  }

  /// Ends the threads, each after its present name, without waiting for them.
  func close() { state.broadcast { $0.isClosed = true } }

  private func work(on first: String) {
    var name: String? = first
    while let present = name {
      let answer = lookUp(present)
      // Free before it reports: the report may bring the next name.
      state.withLock { $0.free += 1 }
      report(present, answer)
      name = next()
    }
  }

  private func next() -> String? {
    let found = state.wait(until: .current + patience) { state -> String?? in
      guard !state.names.isEmpty || state.isClosed else { return nil }
      return .some(state.takeThread())
    }
    // A name may have arrived since the wait timed out.
    return found ?? state.withLock { $0.takeThread() }
  }
}
