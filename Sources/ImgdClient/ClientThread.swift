internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire
import Synchronization

/// The thread of a client, which is started by the first request: it owns the connections.
final class ClientThread: Sendable {
  enum Order: Sendable {
    case begin(Call)
    /// A fetch that was sent on the short way, and is not answered yet.
    case awaitAnswer(Call, ShortWay.Connection, ShortWay.Attempt)
    case cancel(Call)
    case subscribe(Int, Set<EventTopic>, Feed<DaemonEvent>, @Sendable (Result<Void, any Error>) -> Void)
    case unsubscribe(Int)
    case close(@Sendable () -> Void)
  }

  private enum State {
    case new
    case running(LoopThread, Mailbox<Order>)
    case closed
  }

  private let socket: String?
  private let state = Locked<State>(.new)
  private let shortWay = ShortWay()
  /// How many calls are under way at the thread.
  private let underWay = Atomic(0)

  init(socket: String?) { self.socket = socket }

  deinit { close {} }

  /// Has an order carried out; returns the error if that is impossible.
  func post(_ order: Order) -> ConnectionError? {
    // Posted under the lock: after `close` nothing would be received any more.
    state.withLock { state in
      switch state {
      case .closed: return .clientClosed
      case .running(_, let mailbox): mailbox.post(order)
      case .new:
        do throws(SystemFailure) {
          let (thread, mailbox) = try Self.start(socket: socket)
          state = .running(thread, mailbox)
          mailbox.post(order)
        } catch { return .failed(path: socket ?? "", reason: error.description) }
      }
      return nil
    }
  }

  /// Tries to have a fetch answered while its task waits, if the task is the only one.
  func answerAtOnce(_ call: Call) -> ShortWay.Outcome {
    guard underWay.load(ordering: .relaxed) == 0, case .fetch(let fetch) = call.request, call.file == nil,
      fetch.mayTakeShortWay
    else {
      return .unanswered(wasSent: false)
    }
    return shortWay.answer(fetch, path: { Self.path(named: socket) })
  }

  /// Counts a call that waits at the thread, from here to `countEnded`.
  func countBegun() { underWay.wrappingAdd(1, ordering: .relaxed) }

  func countEnded() { underWay.wrappingSubtract(1, ordering: .relaxed) }

  /// Ends all that is under way, and the thread; `closed` is called when no connection is left.
  func close(_ closed: @escaping @Sendable () -> Void) {
    shortWay.close()
    let isRunning = state.withLock { state in
      defer { state = .closed }
      guard case .running(_, let mailbox) = state else { return false }
      mailbox.post(.close(closed))
      return true
    }
    if !isRunning { closed() }
  }

  private static func start(socket: String?) throws(SystemFailure) -> (LoopThread, Mailbox<Order>) {
    try LoopThread.start(name: "imgd-client") { loop throws(SystemFailure) in
      let connections = ClientConnections(on: loop) { path(named: socket) }
      return try loop.makeMailbox { connections.carryOut($0) }
    }
  }

  /// Looked for at each connection: the user's own daemon may have been started since.
  private static func path(named socket: String?) -> String {
    SocketSearch.path(named: socket, environment: ProcessEnvironment.all)
  }
}

/// The connections of a client: one for its requests, and one for each subscription.
private final class ClientConnections {
  private let loop: EventLoop
  private let path: () -> String
  private let channel: RequestChannel
  /// Those of fetches that came on the short way, by the ids of their calls.
  private var furtherChannels: [Int: RequestChannel] = [:]
  /// The requests that have no answer yet, by the ids of their calls.
  private var underWay: [Int: DaemonCall] = [:]
  private var subscriptions: [Int: Subscription] = [:]
  private var isClosed = false

  init(on loop: EventLoop, path: @escaping () -> String) {
    self.loop = loop
    self.path = path
    channel = RequestChannel(on: loop, path: path)
  }

  func carryOut(_ order: ClientThread.Order) {
    switch order {
    case .begin(let call): begin(call)
    case .awaitAnswer(let call, let connection, let attempt): awaitAnswer(to: call, over: connection, attempt)
    case .cancel(let call): underWay.removeValue(forKey: call.id)?.cancel()
    case .subscribe(let number, let topics, let feed, let begun):
      subscriptions[number] = Subscription(to: topics, on: loop, path: path(), feed: feed, begun: begun)
    case .unsubscribe(let number): subscriptions.removeValue(forKey: number)?.close()
    case .close(let closed):
      isClosed = true
      channel.close()
      for channel in furtherChannels.values { channel.close() }
      for subscription in subscriptions.values { subscription.close(ConnectionError.clientClosed) }
      subscriptions = [:]
      loop.stop()
      closed()
    }
  }

  /// Sends a request, as soon as few enough are under way.
  private func begin(_ call: Call) {
    guard !call.hasEnded else { return }
    channel.begin(request(of: call))
  }

  /// Waits for the answer to a fetch over the connection on which it was sent.
  private func awaitAnswer(to call: Call, over connection: ShortWay.Connection, _ attempt: ShortWay.Attempt) {
    guard !call.hasEnded else { return }
    let further = RequestChannel(on: loop, path: path)
    furtherChannels[call.id] = further
    further.awaitAnswer(to: request(of: call), id: attempt.id, receipt: attempt.receipt, over: connection.lines)
  }

  private func request(of call: Call) -> DaemonCall {
    let request = DaemonCall(
      call.request, with: call.file, isRepeatable: call.isRepeatable, onEvent: { call.passOn($0) },
      { [unowned self] in finish(call, $0) })
    underWay[call.id] = request
    return request
  }

  private func finish(_ call: Call, _ outcome: DaemonCall.Outcome) {
    underWay[call.id] = nil
    // It is what has called this.
    if let further = furtherChannels.removeValue(forKey: call.id) { loop.atTickEnd { further.close() } }
    // Nothing is mapped for a request that was cancelled.
    guard !call.hasEnded else { return }
    call.finish(Result { try answer(outcome) })
  }

  private func answer(_ outcome: DaemonCall.Outcome) throws -> Answer {
    switch outcome {
    case .success(let answer): return try Answer(answer, from: channel.socketPath)
    case .failure(let problem): throw isClosed ? ConnectionError.clientClosed : ConnectionError(problem)
    }
  }
}

/// The line that ended a request, and the memory that came with it.
struct Answer: Sendable {
  let reply: Reply
  let memory: PictureMemory?

  /// Throws the daemon's error.
  init(_ answer: DaemonAnswer, from path: String) throws {
    reply = answer.reply
    guard reply.succeeded == true else { throw ImgdError(reply) }
    let description = reply.objects("fds")?.first
    do throws(ConnectionProblem) {
      memory = try description.map { (description) throws(ConnectionProblem) in
        try PictureMemory(description, answer.takeDescriptor(), from: path)
      }
    } catch { throw ConnectionError(error) }
  }
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
  /// What is sent with the request.
  let file: SharedDescriptor?
  private let onEvent: @Sendable (Reply) -> Void
  private let state = Locked<State>(.new)

  init(
    _ request: Request, with file: SharedDescriptor? = nil, id: Int = nextID(), isRepeatable: Bool = true,
    onEvent: @escaping @Sendable (Reply) -> Void = { _ in }
  ) {
    self.request = request
    self.file = file
    self.id = id
    self.isRepeatable = isRepeatable
    self.onEvent = onEvent
  }

  /// The same call after it was sent once already.
  var again: Call { Call(request, id: id, isRepeatable: false, onEvent: onEvent) }

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

  func passOn(_ event: Reply) { if !hasEnded { onEvent(event) } }

  func finish(_ outcome: Outcome) {
    let handler: Handler? = state.withLock { state in
      defer { state = .ended }
      guard case .awaited(let handler) = state else { return nil }
      return handler
    }
    handler?(outcome)
  }
}

/// A subscription whose events go into a feed.
final class Subscription {
  private let feed: Feed<DaemonEvent>
  /// Called once, when the daemon has accepted or refused.
  private var begun: ((Result<Void, any Error>) -> Void)?
  private var events: EventSubscription?

  init(
    to topics: Set<EventTopic>, on loop: EventLoop, path: String, feed: Feed<DaemonEvent>,
    begun: @escaping (Result<Void, any Error>) -> Void
  ) {
    self.feed = feed
    self.begun = begun
    events = EventSubscription(
      on: loop, path: path, topics: Topics(topics.compactMap { Topics(name: $0.rawValue) }),
      onBegin: { [unowned self] _ in self.begun.take()?(.success(())) },
      onEvent: { [feed] in feed.add(DaemonEvent($0)) }, onLost: { [unowned self] in lose($0) })
  }

  /// Ends the connection and the events; without an error if nobody reads them any more.
  func close(_ error: (any Error)? = nil) {
    events.take()?.close()
    feed.finish(error)
    begun.take()?(.failure(error ?? CancellationError()))
  }

  private func lose(_ loss: EventSubscription.Loss) {
    switch loss {
    case .refused(let reply): close(ImgdError(reply))
    case .broken(let problem): close(ConnectionError(problem))
    }
  }
}
