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
    // A queue of length nought holds one, which has to be there first; the next ones hang, as the
    // client's will.
    let first = OriginSocket.connectWithoutWaiting(port)
    var request = pollfd(fd: first, events: Int16(POLLOUT), revents: 0)
    guard poll(&request, 1, 60_000) == 1 else { throw TestFailure("nobody takes the first") }
    sockets =
      [listener, first] + (0..<3).map { [port] _ in OriginSocket.connectWithoutWaiting(port) }
  }

  deinit {
    for socket in sockets { close(socket) }
  }
}
