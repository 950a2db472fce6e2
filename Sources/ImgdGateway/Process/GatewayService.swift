import Glibc
package import ImgdProgram
package import ImgdSystem

/// The gateway's life as a service: tells the manager when it is ready and when it stops, and ends in
/// good order at a signal.
package final class GatewayService {
  private static let signals = [SIGTERM, SIGINT]
  /// How long a stop may take; containers are killed after ten seconds.
  private static let stopLimit = Duration.milliseconds(9_500)
  /// How long a manager that reads nothing may hold up the end of the process.
  private static let timeToFinish = Duration.seconds(5)

  private let loop: EventLoop
  private let manager: SystemdMessenger
  private var signalWatch: SignalWatch?
  private var isStopping = false

  /// Accepts nothing new, lets answers under way finish, and then calls its argument.
  package var onStop: (_ done: @escaping () -> Void) -> Void = { $0() }

  package init(hasManager: Bool, on loop: EventLoop) throws(SystemFailure) {
    self.loop = loop
    try Log.writeAside(from: loop)
    manager = try SystemdMessenger(hasManager: hasManager, on: loop)
  }

  /// Settles what becomes of signals, and makes room for so many clients; to be called before anything starts a thread.
  package static func prepareProcess(forClients clients: Int) {
    SignalWatch.block(signals)
    signal(SIGPIPE, SIG_IGN)
    // Neither a terminal that closes nor an attempt to reload may end answers under way.
    signal(SIGHUP, SIG_IGN)
    OpenFiles.raiseLimit(forClients: clients)
  }

  /// Serves until told to stop.
  package func serve() throws(SystemFailure) {
    signalWatch = try SignalWatch(Self.signals, on: loop) { [unowned self] _ in stop() }
    manager.post(.ready(status: "answers requests"))
    loop.run()
    manager.finish(within: Self.timeToFinish)
    loop.close()
  }

  /// A second signal ends what the first one has left running.
  private func stop() {
    guard !isStopping else { return loop.stop() }
    isStopping = true
    manager.post(.stopping(status: "finishing what runs"))
    loop.schedule(after: Self.stopLimit) { [loop] in loop.stop() }
    onStop { [loop] in loop.stop() }
  }
}

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
        .start, .inheritanceUnknown,
        "closed what was inherited as '\(other.name)': imgd-http takes one socket, named "
          + "'\(Self.name)' by FileDescriptorName=")
      close(other.number)
    }
  }

  /// Warns that the gateway does not listen at the place that the configuration names.
  func warnOfUnused(_ place: GatewayConfiguration.Place) {
    guard descriptor != nil, place != GatewayConfiguration().listen else { return }
    Log.warning(
      .configuration, .settingDoubtful,
      "HTTP-Gateway.Listen=\(place.text) is not used: systemd has made the socket; set ListenStream= "
        + "to move it (systemctl edit imgd-http.socket)")
  }

  /// Listens at the manager's socket, or else at a place of its own.
  func listen(as configuration: GatewayConfiguration) throws(ListenProblem) -> HTTPListener {
    let mayBeExposed = configuration.expose
    if let descriptor { return try HTTPListener(adopting: descriptor, mayBeExposed: mayBeExposed) }
    return switch configuration.listen {
    case .unix(let path): try HTTPListener(path: path)
    case .port(let address, let port): try HTTPListener(address: address, port: port, mayBeExposed: mayBeExposed)
    }
  }

  /// Disconnects the waiting clients when the program cannot start: for them the manager would start it again and
  /// again, until it gave up the socket as well.
  func turnAway(because reason: String) {
    SystemdNotifier().send(.status(reason))
    guard let descriptor, let listener = try? HTTPListener(adopting: descriptor, mayBeExposed: true) else { return }
    for _ in 0..<Self.most { guard case .client = listener.socket.accept() else { return } }
  }
}
