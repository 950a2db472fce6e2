package import ImgdSystem

/// The place where a server's clients connect: only programs of this machine can.
package final class HTTPListener {
  private enum Socket {
    case unix(UnixListener)
    case loopback(LoopbackListener)
  }

  private let socket: Socket

  /// Makes a socket at a path, for its owner and its group.
  package init(path: String) throws(ListenProblem) {
    socket = .unix(try UnixListener(path: path))
  }

  /// Binds an address of 127.0.0.0/8 or `::1`; port 0 for a free one.
  package init(address: String, port: Int) throws(ListenProblem) {
    socket = .loopback(try LoopbackListener(address: address, port: port))
  }

  /// Takes over a socket that the service manager has bound and listens on.
  package init(adopting number: CInt) throws(ListenProblem) {
    do throws(ListenProblem) {
      socket = .unix(try UnixListener(adopting: number))
    } catch .notListening {
      socket = .loopback(try LoopbackListener(adopting: number))
    }
  }

  package var peer: HTTPPeer {
    switch socket {
    case .unix: .unix
    case .loopback: .loopback
    }
  }

  /// The port of a loopback address; nil for a Unix socket.
  package var port: Int? {
    guard case .loopback(let listener) = socket else { return nil }
    return listener.port
  }

  var number: CInt {
    switch socket {
    case .unix(let listener): listener.number
    case .loopback(let listener): listener.number
    }
  }

  func accept() -> ListeningSocket.Arrival {
    switch socket {
    case .unix(let listener): listener.accept()
    case .loopback(let listener): listener.accept()
    }
  }

  func restoreReserve() {
    switch socket {
    case .unix(let listener): listener.restoreReserve()
    case .loopback(let listener): listener.restoreReserve()
    }
  }

  func close() {
    switch socket {
    case .unix(let listener): listener.close()
    case .loopback(let listener): listener.close()
    }
  }
}
