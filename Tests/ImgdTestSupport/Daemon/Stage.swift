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

  deinit { origin.stop() }

  /// Restarts the daemon, or starts it if it has ended, and connects a new client.
  package func restart() throws {
    if daemon.pid == 0 { try daemon.start() } else { try daemon.restart() }
    client = try daemon.connect()
  }

  package var base: String { origin.url("") }

  package func connect() throws -> TestClient {
    try daemon.connect()
  }
}
