import Glibc

/// A port that refuses every connection while this object exists. (A port that was just closed could
/// be reused by another origin at any moment.)
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

/// A port on which connections neither succeed nor fail: its queue is full and never emptied.
package final class FullListener: Sendable {
  package let port: Int
  private let sockets: [CInt]

  package init() throws {
    let listener = try OriginSocket.listen(ipv6: false)
    _ = listen(listener, 0)
    port = OriginSocket.port(of: listener)
    // A queue of length zero holds one connection, which must be there first; all others hang.
    let first = OriginSocket.connectWithoutWaiting(port)
    var request = pollfd(fd: first, events: Int16(POLLOUT), revents: 0)
    guard poll(&request, 1, Patience.milliseconds) == 1 else {
      throw TestFailure("the first connection was not accepted")
    }
    sockets =
      [listener, first] + (0..<3).map { [port] _ in OriginSocket.connectWithoutWaiting(port) }
  }

  deinit {
    for socket in sockets { close(socket) }
  }
}

/// A port whose connections end behind the first bytes of their clients.
package final class BreakingPort: Sendable {
  /// How they end; `garbled` with bytes before that are none of TLS.
  package enum End: Sendable { case closed, reset, garbled }

  package let port: Int
  private let listener: CInt

  package init(_ end: End) throws {
    listener = try OriginSocket.listen(ipv6: false)
    port = OriginSocket.port(of: listener)
    detachThread { [listener] in
      while let client = OriginSocket.accept(listener) {
        var room = [UInt8](repeating: 0, count: 1 << 16)
        _ = recv(client, &room, room.count, 0)
        if end == .garbled { _ = send(client, "SSH-2.0-x\r\n", 11, CInt(MSG_NOSIGNAL)) }
        if end == .reset {
          var linger = linger(l_onoff: 1, l_linger: 0)
          setsockopt(
            client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        }
        close(client)
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, CInt(SHUT_RDWR)) }
}

/// A listening port that a test passes to the server that it starts.
///
/// Clients can connect at once: the kernel queues them until the server accepts.
package final class PassedListener: Sendable {
  package let port: Int
  package let number: CInt

  package init() throws {
    number = try OriginSocket.listen(ipv6: false)
    port = OriginSocket.port(of: number)
  }

  deinit { close(number) }
}

/// A port for a server that opens its port itself, which nobody else is given while this object exists.
///
/// The kernel gives a bound port to nobody who asks for any free one. A server that names it may have it as well, where
/// it sets SO_REUSEADDR, as those of Redis do.
package final class ReservedPort: Sendable {
  package let port: Int
  private let socket: CInt

  package init() throws {
    socket = try OriginSocket.bound(isShared: true)
    port = OriginSocket.port(of: socket)
  }

  deinit { close(socket) }
}
