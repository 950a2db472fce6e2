import ImgdProgram
import ImgdSystem
import ImgdWire

/// A start that fails and would fail again until somebody corrects the configuration.
///
/// Clients may wait in a socket that the service manager has opened. Because of them it would start
/// the daemon again and again, until it gave up the socket as well. So they get an error and are
/// disconnected.
enum FailedStart {
  /// No more than can wait in a socket: clients that reconnect at once would keep the daemon busy.
  private static let most = 4_096

  /// Sends the reason to the manager and to all clients that wait in its socket.
  static func report(_ reason: String, in environment: SystemdEnvironment) {
    SystemdNotifier().send(.status(reason))
    guard let control = Inheritance.control(in: environment.inherited),
      let listener = try? UnixListener(adopting: control.number)
    else { return }
    turnAway(from: listener, because: reason)
  }

  static func turnAway(from listener: UnixListener, because reason: String) {
    let error = WireError(.unavailable, "imgd cannot start: \(reason)")
    let scratch = ReadScratch()
    for _ in 0..<most {
      guard case .client(let socket) = listener.accept() else { return }
      socket.turnAway(error, reading: scratch)
    }
  }
}
