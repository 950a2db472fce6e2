import Glibc

/// A port on which connections neither come about nor fail: its queue is full, and nobody takes
/// anything out of it.
package final class FullListener: Sendable {
  package let port: Int
  private let sockets: [CInt]

  package init() throws {
    let listener = try OriginSocket.listen(ipv6: false)
    _ = listen(listener, 0)
    port = OriginSocket.port(of: listener)
    // A queue of length nought holds one; the next ones hang, as the client's will.
    sockets = [listener] + (0..<3).map { [port] _ in OriginSocket.connectWithoutWaiting(port) }
  }

  deinit {
    for socket in sockets { close(socket) }
  }
}
