import ImgdSystem
import ImgdWire

/// A start that fails, and would fail again: something has to be mended first.
///
/// Clients may wait in a socket that the service manager has opened. For them it would start the
/// daemon again and again, until it gives up the socket as well. So they are told, and let go.
enum FailedStart {
  /// No more than can wait in a socket; else who comes again at once would be told for ever.
  private static let most = 4_096

  /// Tells the manager and all who wait in its socket why there is no daemon.
  static func tell(_ reason: String, in environment: ServiceEnvironment) {
    ServiceManager(socket: environment.notifySocket).failing(status: reason)
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
