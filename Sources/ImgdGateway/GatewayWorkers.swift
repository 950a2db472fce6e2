import ImgdSystem

/// The threads of the gateway that serve: the main one, and those that it starts. Each has a loop, a connection to the
/// daemon and pictures that it holds, and all accept the clients of one socket.
final class GatewayWorkers {
  private enum Order: Sendable {
    /// Serve on, and send those away who are answered.
    case leave
    /// Accept nothing new, finish what is under way, and end.
    case close
    case end
  }

  /// How long balancers of other machines have to send nobody here any more.
  private static let farewell = Duration.seconds(1)

  private let listener: HTTPListener
  private let loop: EventLoop
  private let own: Gateway
  private var others: [(thread: LoopThread, orders: Mailbox<Order>)] = []
  private var serving: Int
  private var onClosed: (() -> Void)?

  init(_ commons: GatewayCommons, listening listener: HTTPListener, on loop: EventLoop) throws(SystemFailure) {
    self.listener = listener
    self.loop = loop
    serving = commons.tallies.count
    own = try Gateway(commons, as: 0, on: loop)
    guard serving > 1 else { return }
    let closed = try loop.makeMailbox { [weak self] (_: Int) in self?.oneHasClosed() }
    for worker in 1..<serving {
      let other = try LoopThread.start(name: "imgd-http-\(worker)") { loop throws(SystemFailure) in
        let gateway = try Gateway(commons, as: worker, on: loop)
        return try loop.makeMailbox { (order: Order) in
          switch order {
          case .leave: gateway.leave()
          case .close: gateway.close { closed.post(worker) }
          case .end: loop.stop()
          }
        }
      }
      others.append(other)
    }
  }

  deinit {
    for (_, orders) in others { orders.post(.end) }
    for (thread, _) in others { thread.join() }
  }

  /// Accepts nothing new, and calls `done` when the answers under way are sent. Where other machines connect, they are
  /// sent away first: a connection that ends without a word would look like a failure there.
  func close(_ done: @escaping () -> Void) {
    guard listener.isExposed else { return closeAtOnce(done) }
    for (_, orders) in others { orders.post(.leave) }
    own.leave()
    loop.schedule(after: Self.farewell) { [weak self] in self?.closeAtOnce(done) }
  }

  private func closeAtOnce(_ done: @escaping () -> Void) {
    onClosed = done
    for (_, orders) in others { orders.post(.close) }
    own.close { [unowned self] in oneHasClosed() }
    listener.close()
  }

  private func oneHasClosed() {
    serving -= 1
    if serving == 0 { onClosed.take()?() }
  }
}
