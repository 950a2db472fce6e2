package import ImgdSystem

/// An HTTP server for programs of this machine, on a loop of its owner.
package final class HTTPServer {
  /// The most connections that one tick accepts.
  private static let mostAccepted = 64

  private let loop: EventLoop
  private let listener: HTTPListener
  private let engine: HTTPEngine
  private var listening: Watch?
  private var closing: Timer?
  private var onClosed: (() -> Void)?

  /// Serves until it is closed; each request is handed out once its head is sound and complete.
  package init(
    on loop: EventLoop, listening listener: HTTPListener, limits: HTTPLimits,
    onRequest: @escaping (any HTTPExchange) -> Void
  ) throws(SystemFailure) {
    self.loop = loop
    self.listener = listener
    engine = try HTTPEngine(on: loop, limits: limits, peer: listener.peer)
    engine.onRequest = onRequest
    engine.onClose = { [weak self] in self?.connectionHasClosed() }
    listening = try loop.watch(listener.socket.number, for: .read) { [weak self] _ in self?.accept() }
  }

  deinit {
    listening?.cancel()
    closing?.cancel()
    engine.onClose = {}
    engine.stop()
  }

  /// The port of a loopback address; nil for a Unix socket.
  package var port: Int? { listener.port }

  package var counters: HTTPCounters { engine.counters }

  /// Accepts no more connections, and calls `done` when the answers under way are sent, or after a while even if they
  /// are not.
  package func close(_ done: @escaping () -> Void = {}) {
    guard onClosed == nil, !engine.isClosing else { return }
    listening?.cancel()
    listening = nil
    listener.close()
    onClosed = done
    engine.beginClosing()
    closing = loop.schedule(after: engine.limits.closingTimeout) { [weak self] in self?.finish() }
    finishIfAlone()
  }

  private func connectionHasClosed() {
    if !engine.isClosing { listening?.interest = .read }
    // Not from within the library's call.
    loop.atTickEnd { [weak self] in self?.finishIfAlone() }
  }

  private func finishIfAlone() { if engine.isClosing, counters.connections == 0 { finish() } }

  private func finish() {
    closing?.cancel()
    closing = nil
    engine.stop()
    let done = onClosed.take()
    done?()
  }

  // MARK: Accepting

  private func accept() {
    for _ in 0..<Self.mostAccepted {
      // Until one of them closes; the others wait in the kernel's queue.
      guard counters.connections < engine.limits.connections else {
        listening?.interest = []
        return
      }
      guard acceptOne() else { return }
    }
  }

  /// Accepts one connection; returns whether there may be more.
  private func acceptOne() -> Bool {
    switch listener.socket.accept() {
    case .client(let socket): if !engine.add(socket) { engine.counters.refused += 1 }
    case .beyondDescriptors(let socket):
      engine.counters.refused += 1
      refuse(socket)
      listener.socket.restoreReserve()
      rest()
      return false
    case .nobody: return false
    case .exhausted:
      rest()
      return false
    }
    return true
  }

  /// Refuses a connection by closing it: there is no descriptor to spare for an answer.
  private func refuse(_ socket: consuming StreamSocket) {}

  /// Pauses accepting: the process is short of descriptors, or the kernel of memory, and asking again at once would not
  /// help.
  private func rest() {
    listening?.interest = []
    loop.schedule(after: .milliseconds(100)) { [weak self] in self?.listening?.interest = .read }
  }
}
