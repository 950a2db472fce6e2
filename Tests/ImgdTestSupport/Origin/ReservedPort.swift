import Glibc

/// A port for a server that a test starts and that binds it with SO_REUSEPORT: one that had to be
/// let go of before could be another origin's by then.
package final class ReservedPort: Sendable {
  package let port: Int
  private let socket: CInt

  package init() throws {
    socket = try OriginSocket.bound(isShared: true)
    port = OriginSocket.port(of: socket)
  }

  deinit { close(socket) }
}
