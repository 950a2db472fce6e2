import ImgdTestSupport
import ImgdWire
import Testing

/// A daemon in a network of its own, and an origin in another one, at a hundred addresses.
final class OfflineStage {
  static let hosts = 1...100

  let origin: OriginServer
  let daemon: DaemonProcess
  let client: TestClient
  let network: PrivateNetwork
  private let away: PrivateNetwork

  init(_ settings: String...) throws {
    network = try PrivateNetwork()
    away = try PrivateNetwork()
    try network.connect(to: away)
    origin = try OriginServer()
    try origin.listen(in: away, everywhere: true)
    // As stale as it comes.
    origin.plan("/stale", .picture(png(), headers: [("Cache-Control", "max-age=0")]))
    origin.plan("/new", .picture(png()))
    daemon = try DaemonProcess(settings: settings, wrapper: network.wrapper)
    client = try daemon.connect()
  }

  /// A fetch of a path from one of the hosts.
  func line(_ path: String, of host: Int, _ options: String = "") -> String {
    let url = origin.url(path, host: "10.9.1.\(host)")
    return #"{"cmd":"fetch","url":"\#(url)"\#(options)}"#
  }

  /// Takes the link down or up, and waits until the daemon knows.
  func setLink(up: Bool) throws {
    try network.setLink(up: up)
    guard try becomes({ try isOffline() != up }) else {
      throw TestFailure("the daemon does not see its link; it says: \(daemon.log)")
    }
  }

  private func isOffline() throws -> Bool {
    let answer = try daemon.connect().ask(#"{"cmd":"stats"}"#)
    return answer["network"]?["offline"]?.bool == true
  }
}

extension Trait where Self == ConditionTrait {
  /// Skipped where there can be no networks of a test's own.
  static var inPrivateNetworks: Self {
    .enabled(if: PrivateNetwork.obstacle == nil, Comment(rawValue: PrivateNetwork.obstacle ?? ""))
  }
}
