import ImgdTestSupport
import ImgdWire

/// What a test of the service plays on: a machine with imgd installed, and an origin inside.
final class ServiceStage: Sendable {
  let machine: Machine
  let origin: OriginServer

  /// Installs and does not start. Settings extend `imgd.service`, the configuration is
  /// /etc/imgd/imgd.conf.
  init(
    unit settings: String? = nil, configuration: String? = nil, packages: String? = nil
  ) throws {
    machine = try Machine(packages: packages)
    origin = try machine.origin()
    try machine.installImgd()
    if let configuration { try configure(configuration) }
    if let settings { try machine.extend(with: settings) }
  }

  deinit { origin.stop() }

  func configure(_ configuration: String) throws {
    try machine.write(configuration, to: "/etc/imgd/imgd.conf")
  }

  /// Returns when systemd says that the service is ready.
  func start() throws { try machine.perform("systemctl start imgd.service") }

  func connect() throws -> TestClient { try machine.connect() }

  /// Holds a conversation over a connection of its own, or another one.
  @discardableResult
  func play(_ text: String, on client: TestClient? = nil) throws -> [JSONValue] {
    try (client ?? connect()).play(text, origin: origin.url(""))
  }

  /// Sends requests and returns when the daemon has taken them in.
  func begin(_ requests: String..., on client: TestClient) throws {
    let lines = (requests + [#"{"cmd":"ping","id":"taken in"}"#]).map { "> " + $0 }
    try play(lines.joined(separator: "\n") + "\n< " + #"{"id":"taken in","ok":true}"#, on: client)
  }

  /// A plain fetch that must succeed; its line.
  @discardableResult
  func fetch(_ path: String, on client: TestClient? = nil) throws -> JSONValue {
    try play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN\#(path)"}
      < {"ok":true}
      """#, on: client)[0]
  }

  /// A counter of the daemon's.
  func stats(_ object: String, _ name: String) throws -> Int {
    let answer = try connect().ask(#"{"cmd":"stats"}"#)
    guard let value = answer[object]?[name]?.integer else {
      throw TestFailure("stats has no \(object).\(name): \(answer.text)")
    }
    return Int(value)
  }
}
