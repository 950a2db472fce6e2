import ImgdWire

/// The fixture of a test of the daemon: a daemon, an origin, and a client.
package final class Stage: DaemonStage, @unchecked Sendable {
  // Unchecked: only the test that owns it uses `client`, the only variable.
  package let origin: OriginServer
  package let daemon: DaemonProcess
  /// The default client.
  package private(set) var client: TestClient

  package init(_ settings: String..., configuration: String? = nil) throws {
    origin = try OriginServer()
    daemon = try DaemonProcess(settings: settings, configuration: configuration)
    client = try daemon.connect()
  }

  /// A stage on a daemon that others use as well, with the origin that is to be its own.
  init(on daemon: DaemonProcess, with origin: OriginServer) throws {
    self.origin = origin
    self.daemon = daemon
    client = try daemon.connect()
  }

  /// Restarts the daemon, or starts it if it has ended, and connects a new client.
  package func restart() throws {
    if daemon.pid == 0 { try daemon.start() } else { try daemon.restart() }
    client = try daemon.connect()
  }

  /// Waits until a daemon that was told to stop has taken that in: it refuses fetches from then on.
  package func waitUntilItStops() throws {
    let isStopping = try becomes { try outcome("/late") == "shutting_down" }
    guard isStopping else { throw TestFailure("it does not stop; it says: \(daemon.log)") }
  }

  package var base: String { origin.url("") }

  package func connect() throws -> TestClient {
    try daemon.connect()
  }
}
