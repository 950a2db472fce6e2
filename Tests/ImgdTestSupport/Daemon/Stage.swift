import ImgdWire

/// The fixture of a test of the daemon: a daemon, an origin, and a client.
package final class Stage: @unchecked Sendable {
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

  /// Plays a conversation over the first connection, or another one.
  @discardableResult
  package func play(_ text: String, on other: TestClient? = nil) throws -> [JSONValue] {
    try (other ?? client).play(text, origin: base)
  }

  /// Sends requests and returns when the daemon has read them.
  package func begin(_ requests: String..., on other: TestClient? = nil) throws {
    let lines = requests.map { "> " + $0 } + [#"> {"cmd":"ping","id":"taken in"}"#]
    try play(lines.joined(separator: "\n") + "\n< " + #"{"id":"taken in","ok":true}"#, on: other)
  }

  /// A counter of the daemon, read over a separate connection.
  package func stats(_ object: String, _ name: String) throws -> Int {
    let answer = try connect().ask(#"{"cmd":"stats"}"#)
    guard let value = answer[object]?[name]?.integer else {
      throw TestFailure("stats has no \(object).\(name): \(answer.text)")
    }
    return Int(value)
  }

  /// A plain fetch that must succeed; returns its line.
  @discardableResult
  package func fetch(_ path: String, on other: TestClient? = nil) throws -> JSONValue {
    try play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN\#(path)"}
      < {"ok":true}
      """#, on: other)[0]
  }
}
