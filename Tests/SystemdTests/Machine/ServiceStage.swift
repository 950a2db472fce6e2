import ImgdTestSupport
import ImgdWire

/// What a test of the service plays on: a machine with imgd installed, and an origin inside.
final class ServiceStage: Sendable {
  private static let configuration = "/etc/imgd/imgd.conf"

  let machine: Machine
  let origin: OriginServer

  /// Starts no unit of imgd. Settings extend `imgd.service`, the configuration is
  /// /etc/imgd/imgd.conf, and a layer below imgd is a systemd, say.
  init(
    unit settings: String? = nil, configuration: String? = nil, below layer: Layer? = nil
  ) throws {
    var texts: [String: String] = [:]
    texts[Self.configuration] = configuration
    // Where what `Machine.extend` writes takes its place.
    texts["/usr/local/lib/systemd/system/imgd.service.d/50-test.conf"] = settings
    let layers = try (layer.map { [$0] } ?? []) + [Layer.imgd, Layer(of: texts)]
    machine = try Machine(layers: layers)
    origin = try machine.origin()
  }

  deinit { origin.stop() }

  func configure(_ configuration: String) throws {
    try machine.write(configuration, to: Self.configuration)
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
