import ImgdWire

/// What a test of the daemon plays on: a daemon of its own, an origin of its own, and a client.
package final class Stage: DaemonStage, @unchecked Sendable {
  // Unchecked: what changes (`client`) is touched by the test that owns it alone.
  package let origin: OriginServer
  package let daemon: DaemonProcess
  /// The client that speaks when no other is named.
  package private(set) var client: TestClient

  package init(_ settings: String..., configuration: String? = nil) throws {
    origin = try OriginServer()
    daemon = try DaemonProcess(settings: settings, configuration: configuration)
    client = try daemon.connect()
  }

  deinit { origin.stop() }

  /// Another daemon in the place of the one that runs, or of the one that has ended, and a client
  /// that speaks to it.
  package func restart() throws {
    if daemon.pid == 0 { try daemon.start() } else { try daemon.restart() }
    client = try daemon.connect()
  }

  package var base: String { origin.url("") }

  package func connect() throws -> TestClient {
    try daemon.connect()
  }
}
