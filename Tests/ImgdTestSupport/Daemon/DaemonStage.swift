import ImgdWire

/// What a test of the daemon plays on: a process, or a core in this one.
package protocol DaemonStage {
  /// The client that speaks when no other is named.
  var client: TestClient { get }
  /// The URL of the origin, without a path.
  var base: String { get }
  func connect() throws -> TestClient
}

extension DaemonStage {
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
