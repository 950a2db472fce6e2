internal import ImgdConnection
internal import ImgdSystem

/// The thread of a client, which is started by the first request: it owns the connections.
final class ClientThread: Sendable {
  /// The orders that other threads give it.
  enum Order: Sendable {
    case begin(Call)
    case cancel(Call)
    case subscribe(Int, Set<EventTopic>, EventFeed, @Sendable (Result<Void, any Error>) -> Void)
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

  /// Ends all that is under way, and the thread; `closed` is called when no connection is left.
  func close(_ closed: @escaping @Sendable () -> Void) {
    let isRunning = state.withLock { state in
      defer { state = .closed }
      guard case .running(_, let mailbox) = state else { return false }
      mailbox.post(.close(closed))
      return true
    }
    if !isRunning { closed() }
  }

  private static func start(socket: String?) throws(SystemFailure) -> (LoopThread, Mailbox<Order>) {
    // Looked for at each connection: the user's own daemon may have been started since.
    let path = { @Sendable in SocketSearch.path(named: socket, environment: ProcessEnvironment.all) }
    return try LoopThread.start(name: "imgd-client") { loop throws(SystemFailure) in
      let connections = ClientConnections(on: loop, path: path)
      return try loop.makeMailbox { connections.carryOut($0) }
    }
  }
}

/// The connections of a client: one for its requests, and one for each subscription.
private final class ClientConnections {
  private let loop: EventLoop
  private let path: () -> String
  private let conversation: Conversation
  private var subscriptions: [Int: Subscription] = [:]

  init(on loop: EventLoop, path: @escaping () -> String) {
    self.loop = loop
    self.path = path
    conversation = Conversation(on: loop, path: path)
  }

  func carryOut(_ order: ClientThread.Order) {
    switch order {
    case .begin(let call): conversation.begin(call)
    case .cancel(let call): conversation.cancel(call)
    case .subscribe(let number, let topics, let feed, let begun):
      subscriptions[number] = Subscription(to: topics, on: loop, path: path(), feed: feed, begun: begun)
    case .unsubscribe(let number): subscriptions.removeValue(forKey: number)?.close()
    case .close(let closed): close(closed)
    }
  }

  private func close(_ closed: () -> Void) {
    conversation.close()
    for subscription in subscriptions.values { subscription.close(ConnectionError.clientClosed) }
    subscriptions = [:]
    loop.stop()
    closed()
  }
}
