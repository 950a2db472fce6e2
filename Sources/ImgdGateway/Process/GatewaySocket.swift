import Glibc
package import ImgdProgram
import ImgdSystem

/// The listening socket that the service manager has passed.
package struct GatewaySocket {
  /// The name that the socket unit gives with FileDescriptorName=.
  private static let name = "http"
  /// The most clients that are turned away, as many as can wait in a socket: clients that reconnect at once would keep
  /// the program busy.
  private static let most = 4_096

  /// Nil if there is none, and the program makes its own.
  private let descriptor: CInt?

  /// Closes all other descriptors: they have no owner here.
  package init(_ environment: SystemdEnvironment) {
    let inherited = environment.inherited
    // Programs other than systemd that pass sockets may give them no name.
    let own = inherited.first { $0.name == Self.name } ?? inherited.first { $0.name == InheritedDescriptor.noName }
    descriptor = own?.number
    for other in inherited where other != own {
      Log.warning(
        .start,
        "closed what was inherited as '\(other.name)': imgd-http takes one socket, named "
          + "'\(Self.name)' by FileDescriptorName=")
      close(other.number)
    }
  }

  /// Warns that the gateway does not listen at the place that the configuration names.
  func warnOfUnused(_ place: GatewayConfiguration.Place) {
    guard descriptor != nil, place != GatewayConfiguration().listen else { return }
    Log.warning(
      .configuration,
      "HTTP-Gateway.Listen=\(place.text) is not used: systemd has made the socket; set ListenStream= "
        + "to move it (systemctl edit imgd-http.socket)")
  }

  /// Listens at the manager's socket, or else at a place of its own.
  func listen(at place: GatewayConfiguration.Place) throws(ListenProblem) -> HTTPListener {
    if let descriptor { return try HTTPListener(adopting: descriptor) }
    return switch place {
    case .unix(let path): try HTTPListener(path: path)
    case .loopback(let address, let port): try HTTPListener(address: address, port: port)
    }
  }

  /// Disconnects the waiting clients when the program cannot start: for them the manager would start it again and
  /// again, until it gave up the socket as well.
  func turnAway(because reason: String) {
    SystemdNotifier().send(.status(reason))
    guard let descriptor, let listener = try? HTTPListener(adopting: descriptor) else { return }
    for _ in 0..<Self.most { guard case .client = listener.socket.accept() else { return } }
  }
}
