internal import ImgdSystem

/// A feed with readers; its source is cancelled when the last of them is gone.
final class HeldFeed<Element: Sendable>: Sendable {
  let feed: Feed<Element>
  let cancel: @Sendable () -> Void

  init(feed: Feed<Element>, cancel: @escaping @Sendable () -> Void) {
    self.feed = feed
    self.cancel = cancel
  }

  deinit { cancel() }
}

/// Values on their way from the client's thread to a task that reads them at its own pace.
///
/// It never grows without limit: its rule says what becomes of the waiting values when another one comes.
final class Feed<Element: Sendable>: Sendable {
  /// Adds a value to those that wait, or replaces some of them by it.
  typealias Rule = @Sendable (Element, inout [Element]) -> Void
  private typealias Reader = CheckedContinuation<Element?, any Error>

  private struct State {
    var waiting: [Element] = []
    var end: Result<Void, any Error>?
    var readers: [(number: Int, reader: Reader)] = []
    var lastNumber = 0
  }

  private let rule: Rule
  private let state = Locked(State())

  init(_ rule: @escaping Rule) { self.rule = rule }

  /// Adds a value, or hands it to the reader that has waited longest.
  func add(_ element: Element) {
    let reader: Reader? = state.withLock { state in
      guard state.end == nil else { return nil }
      if !state.readers.isEmpty { return state.readers.removeFirst().reader }
      rule(element, &state.waiting)
      return nil
    }
    reader?.resume(returning: element)
  }

  /// Ends the feed after the values that wait; without an error the sequence just ends.
  func finish(_ error: (any Error)? = nil) {
    let readers: [Reader] = state.withLock { state in
      guard state.end == nil else { return [] }
      state.end = error.map { .failure($0) } ?? .success(())
      defer { state.readers = [] }
      return state.readers.map(\.reader)
    }
    for reader in readers { if let error { reader.resume(throwing: error) } else { reader.resume(returning: nil) } }
  }

  /// The next value; nil after the last one. A cancelled task gets a `CancellationError`.
  func next() async throws -> Element? {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { serve($0, number) }
    } onCancel: {
      let reader = state.withLock { state in
        state.readers.firstIndex { $0.number == number }.map { state.readers.remove(at: $0).reader }
      }
      reader?.resume(throwing: CancellationError())
    }
  }

  private func serve(_ reader: Reader, _ number: Int) {
    let outcome: Result<Element?, any Error>? = state.withLock { state in
      // Looked at under the lock: a task that is cancelled later finds its reader among those that wait.
      if Task.isCancelled { return .failure(CancellationError()) }
      if !state.waiting.isEmpty { return .success(state.waiting.removeFirst()) }
      if let end = state.end { return end.map { nil } }
      state.readers.append((number, reader))
      return nil
    }
    if let outcome { reader.resume(with: outcome) }
  }
}
