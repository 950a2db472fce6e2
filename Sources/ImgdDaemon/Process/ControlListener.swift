import Glibc
import ImgdSystem

/// Accepts connections on the listening socket and hands them to the registry of clients.
final class ControlListener {
  /// Connections accepted before other events get their turn: each takes as long as several hits.
  private static let acceptedPerTick = 4

  private let listener: UnixListener
  private let clients: Clients
  private let loop: EventLoop
  private var watch: Watch?

  init(_ listener: UnixListener, for clients: Clients, loop: EventLoop) throws(SystemFailure) {
    self.listener = listener
    self.clients = clients
    self.loop = loop
    watch = try loop.watch(listener.number, for: .read) { [unowned self] _ in acceptClients() }
    watch?.interest = []
  }

  /// Accepts connections from now on; earlier ones have waited in the socket.
  func open() { watch?.interest = .read }

  private func acceptClients() {
    for _ in 0..<Self.acceptedPerTick {
      switch acceptClient() {
      case .accepted: continue
      case .nobody: return
      case .exhausted: return rest()
      }
    }
  }

  private enum Arrival { case accepted, nobody, exhausted }

  private func acceptClient() -> Arrival {
    switch listener.accept() {
    case .client(let socket): clients.admit(socket)
    case .beyondDescriptors(let socket):
      clients.refuseBeyondDescriptors(socket)
      listener.restoreReserve()
    case .nobody: return .nobody
    case .exhausted: return .exhausted
    }
    return .accepted
  }

  /// The kernel is short of memory: asking again at once would only spin the loop.
  private func rest() {
    watch?.interest = []
    loop.schedule(after: .milliseconds(100)) { [weak self] in self?.watch?.interest = .read }
  }

  /// Stops accepting connections, except for those that the kernel has already accepted.
  func close() {
    watch?.cancel()
    guard listener.close() else { return }
    for _ in 0..<SOMAXCONN { guard case .accepted = acceptClient() else { return } }
  }
}
