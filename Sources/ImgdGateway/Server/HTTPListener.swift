package import ImgdSystem

/// The place where a server's clients connect: only programs of this machine can.
package final class HTTPListener {
  private enum Place {
    case unix(UnixListener)
    case loopback(LoopbackListener)
  }

  private let place: Place

  /// Makes a socket at a path, for its owner and its group.
  package init(path: String) throws(ListenProblem) { place = .unix(try UnixListener(path: path)) }

  /// Binds an address of 127.0.0.0/8 or `::1`; port 0 for a free one.
  package init(address: String, port: Int) throws(ListenProblem) {
    place = .loopback(try LoopbackListener(address: address, port: port))
  }

  /// Takes over a socket that the service manager has bound and listens on.
  package init(adopting number: CInt) throws(ListenProblem) {
    do throws(ListenProblem) { place = .unix(try UnixListener(adopting: number)) } catch .notListening {
      place = .loopback(try LoopbackListener(adopting: number))
    }
  }

  package var peer: HTTPPeer {
    switch place {
    case .unix: .unix
    case .loopback: .loopback
    }
  }

  /// The port of a loopback address; nil for a Unix socket.
  package var port: Int? {
    guard case .loopback(let listener) = place else { return nil }
    return listener.port
  }

  var socket: ListeningSocket {
    switch place {
    case .unix(let listener): listener.socket
    case .loopback(let listener): listener.socket
    }
  }

  func close() {
    switch place {
    case .unix(let listener): listener.close()
    case .loopback(let listener): listener.close()
    }
  }
}
