import Glibc

/// A port on which every connection is refused, for as long as this is held: one that somebody has
/// just let go of may be another origin's at any moment.
package final class DeafPort: Sendable {
  package let port: Int
  private let socket: CInt

  package init() throws {
    socket = try OriginSocket.bound()
    port = OriginSocket.port(of: socket)
  }

  deinit { close(socket) }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
