import ImgdSystem

/// The threads of the gateway that serve: the main one, and those that it starts. Each has a loop, a connection to the
/// daemon and pictures that it holds, and all accept the clients of one socket.
final class GatewayWorkers {
  private enum Order: Sendable {
    /// Accept nothing new, finish what is under way, and end.
    case close
    case end
  }

  private let listener: HTTPListener
  private let own: Gateway
  private var others: [(thread: LoopThread, orders: Mailbox<Order>)] = []
  private var serving: Int
  private var onClosed: (() -> Void)?

  init(_ commons: GatewayCommons, listening listener: HTTPListener, on loop: EventLoop) throws(SystemFailure) {
    self.listener = listener
    serving = commons.tallies.count
    own = try Gateway(commons, as: 0, on: loop)
    guard serving > 1 else { return }
    let closed = try loop.makeMailbox { [weak self] (_: Int) in self?.oneHasClosed() }
    for worker in 1..<serving {
      let other = try LoopThread.start(name: "imgd-http-\(worker)") { loop throws(SystemFailure) in
        let gateway = try Gateway(commons, as: worker, on: loop)
        return try loop.makeMailbox { (order: Order) in
          switch order {
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

  /// Accepts nothing new, and calls `done` when the answers under way are sent.
  func close(_ done: @escaping () -> Void) {
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
