import Glibc
import ImgdTestSupport
import ImgdWire

extension Machine {
  /// Where the installed daemon listens.
  static let socket = "/run/imgd/imgd.sock"

  /// Installs what was built for release as anybody would; nothing is started.
  func installImgd() throws {
    guard access(Project.path(".build/release/imgd"), X_OK) == 0 else {
      throw TestFailure("no .build/release/imgd: `make test` builds it first")
    }
    // What an imgd of the machine outside has left is in the copy as well.
    try perform(
      "rm -rf /var/cache/imgd /etc/imgd; make --silent --directory=\(Project.root) install")
  }

  /// A connection from out here; the daemon sees root.
  func connect() throws -> TestClient { try TestClient(socket: path(Self.socket)) }
}
