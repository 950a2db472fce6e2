import ImgdTestSupport
import ImgdWire

extension Machine {
  /// Where the installed daemon listens.
  static let socket = "/run/imgd/imgd.sock"

  /// A connection from out here; the daemon sees root.
  func connect() throws -> TestClient { try TestClient(socket: path(Self.socket)) }
}
