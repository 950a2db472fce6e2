import ImgdWire

/// What a test of the daemon plays on: a daemon of its own, an origin of its own, and a client.
package final class Stage: @unchecked Sendable {
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

  /// Holds a conversation over the first connection, or another one.
  @discardableResult
  package func play(_ text: String, on other: TestClient? = nil) throws -> [JSONValue] {
    try (other ?? client).play(text, origin: base)
  }

  /// Sends requests and returns when the daemon has taken them in.
  package func begin(_ requests: String..., on other: TestClient? = nil) throws {
    let lines = requests.map { "> " + $0 } + [#"> {"cmd":"ping","id":"taken in"}"#]
    try play(lines.joined(separator: "\n") + "\n< " + #"{"id":"taken in","ok":true}"#, on: other)
  }

  /// The daemon's counters, over a connection that is not in anybody's way.
  package func stats(_ object: String, _ name: String) throws -> Int {
    let answer = try connect().ask(#"{"cmd":"stats"}"#)
    guard let value = answer[object]?[name]?.integer else {
      throw TestFailure("stats has no \(object).\(name): \(answer.text)")
    }
    return Int(value)
  }

  /// A plain fetch that must succeed; its line.
  @discardableResult
  package func fetch(_ path: String, on other: TestClient? = nil) throws -> JSONValue {
    try play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN\#(path)"}
      < {"ok":true}
      """#, on: other)[0]
  }
}
