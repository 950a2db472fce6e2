internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire
import Synchronization

/// The line that ended a request, and the memory that came with it.
struct Answer: Sendable {
  let reply: Reply
  let memory: PictureMemory?
}

/// One request on its way: made by any thread, carried out by the client's own.
///
/// It ends once, with whatever comes first: the daemon's answer, a broken connection, or its cancellation.
/// Whatever comes later is dropped.
final class Call: Sendable {
  typealias Outcome = Result<Answer, any Error>
  typealias Handler = @Sendable (Outcome) -> Void

  private enum State {
    /// Nobody waits for the outcome yet.
    case new
    case awaited(Handler)
    case ended
  }

  private static let lastID = Atomic(0)

  /// Unique within this process.
  let id: Int
  /// Whether it does no harm if the daemon carries it out twice.
  let isRepeatable: Bool
  let request: Request
  private let onEvent: @Sendable (Reply) -> Void
  private let state = Locked<State>(.new)

  init(
    _ request: Request, id: Int = nextID(), isRepeatable: Bool = true,
    onEvent: @escaping @Sendable (Reply) -> Void = { _ in }
  ) {
    self.request = request
    self.id = id
    self.isRepeatable = isRepeatable
    self.onEvent = onEvent
  }

  static func nextID() -> Int { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

  var hasEnded: Bool { state.withLock { if case .ended = $0 { true } else { false } } }

  /// Has the handler called once; false if the call was already cancelled and need not be sent.
  func expect(_ handler: @escaping Handler) -> Bool {
    let isNew = state.withLock { state in
      guard case .new = state else { return false }
      state = .awaited(handler)
      return true
    }
    if !isNew { handler(.failure(CancellationError())) }
    return isNew
  }

  /// Passes on an event, unless the call has ended.
  func passOn(_ event: Reply) { if !hasEnded { onEvent(event) } }

  /// Ends the call, unless it has ended before.
  func finish(_ outcome: Outcome) {
    let handler: Handler? = state.withLock { state in
      defer { state = .ended }
      guard case .awaited(let handler) = state else { return nil }
      return handler
    }
    handler?(outcome)
  }
}
