import Glibc
import ImgdTestSupport
import ImgdWire

/// One host of a fleet: a daemon with a cache of its own.
final class FleetHost {
  let daemon: DaemonProcess
  private var connection: TestClient?

  /// `wrapper` is a program, with its arguments, that becomes the daemon.
  init(server: String, settings: [String] = [], wrapper: [String] = []) throws {
    daemon = try DaemonProcess(
      settings: ["Fleet.Server=\(server)"] + settings, wrapper: wrapper)
  }

  /// The connection that a test speaks over, another one after each start.
  var client: TestClient {
    get throws {
      if let connection { return connection }
      let made = try daemon.connect()
      connection = made
      return made
    }
  }

  // MARK: The process

  /// Ends the daemon without a chance to put anything in order.
  func kill() {
    connection = nil
    daemon.kill()
  }

  /// Ends it in good order.
  func stop() {
    connection = nil
    _ = daemon.stop()
  }

  func start() throws { try daemon.start() }

  /// Has it stand still, as a machine does that was suspended, or go on.
  func freeze() { daemon.signal(SIGSTOP) }
  func thaw() { daemon.signal(SIGCONT) }

  // MARK: Questions

  func ask(_ line: String) throws -> JSONValue {
    do {
      return try client.ask(line)
    } catch let failure as TestFailure {
      throw TestFailure("\(failure)\nimgd says: \(daemon.log)")
    }
  }

  /// A fetch with further fields such as `"cache":"reload"`, whatever becomes of it.
  func fetch(_ url: String, _ fields: String = "") throws -> JSONValue {
    try ask(Self.request(url, fields))
  }

  static func request(_ url: String, _ fields: String = "") -> String {
    #"{"cmd":"fetch","url":"\#(url)"\#(fields.isEmpty ? "" : "," + fields)}"#
  }

  /// A purge that must succeed; what the answer says of the fleet.
  @discardableResult
  func purge(_ fields: String = "") throws -> String? {
    let line = try ask(#"{"cmd":"purge"\#(fields.isEmpty ? "" : "," + fields)}"#)
    guard line["ok"] == .bool(true) else { throw TestFailure(line.text) }
    return line["fleet"]?.string
  }

  /// Removes what the host has itself; the fleet keeps it.
  func emptyOwnTiers() throws {
    try purge(#""tier":"memory""#)
    try purge(#""tier":"disk""#)
  }

  /// What the host has itself of a URL.
  func tier(of url: String) throws -> String? {
    try ask(#"{"cmd":"query","url":"\#(url)"}"#)["tier"]?.string
  }

  // MARK: Its view of the fleet

  func fleet() throws -> JSONValue {
    let stats = try ask(#"{"cmd":"stats"}"#)
    guard let fleet = stats["fleet"] else { throw TestFailure("stats has no fleet: \(stats.text)") }
    return fleet
  }

  var state: String { get throws { try fleet()["state"]?.string ?? "nothing" } }

  /// Those of its servers for pictures.
  var pictureStates: [String] {
    get throws { try fleet()["pictures"]?.array?.compactMap { $0["state"]?.string } ?? [] }
  }

  /// A counter of `stats.fleet`.
  func count(_ name: String) throws -> Int { try Self.number(name, in: fleet()) }

  /// A counter of `stats.fleet.purges`.
  func purges(_ name: String) throws -> Int {
    try Self.number(name, in: fleet()["purges"] ?? .null)
  }

  private static func number(_ name: String, in object: JSONValue) throws -> Int {
    guard let number = object[name]?.integer else {
      throw TestFailure("there is no \(name) in \(object.text)")
    }
    return Int(number)
  }
}
