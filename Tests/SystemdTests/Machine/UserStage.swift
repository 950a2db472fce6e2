import Glibc
import ImgdTestSupport
import ImgdWire

/// A user of the machine with a service manager of their own, and imgd installed for all users.
final class UserStage: Sendable {
  let stage: ServiceStage
  let name: String
  let home: String
  /// XDG_RUNTIME_DIR.
  let runtime: String

  var machine: Machine { stage.machine }
  var origin: OriginServer { stage.origin }
  var socket: String { runtime + "/imgd/imgd.sock" }

  /// Starts the user's manager, and none of imgd's units. A missing user is made.
  init(_ name: String) throws {
    stage = try ServiceStage()
    self.name = name
    let machine = stage.machine
    try machine.perform("id \(name) >/dev/null 2>&1 || useradd --create-home \(name)")
    home = try machine.perform("getent passwd \(name) | cut -d: -f6")
    let uid = try machine.perform("id -u \(name)")
    runtime = "/run/user/\(uid)"
    try machine.perform("rm -rf \(home)/.cache/imgd \(home)/.config/imgd")
    try machine.perform("systemctl start user@\(uid).service")
  }

  /// Runs a command line, without single quotes, as the user: its exit code and all it wrote.
  @discardableResult
  func run(_ line: String) throws -> (status: CInt, output: String) {
    try machine.run(words(for: line))
  }

  /// Runs a command line, without single quotes, as the user, which must succeed.
  @discardableResult
  func perform(_ line: String) throws -> String {
    try machine.perform(words(for: line))
  }

  private func words(for line: String) -> String {
    "setpriv --reuid=\(name) --regid=$(id -g \(name)) --init-groups env -i PATH=$PATH "
      + "HOME=\(home) XDG_RUNTIME_DIR=\(runtime) sh -c '\(line)'"
  }

  func property(_ property: String, of unit: String = "imgd.service") throws -> String {
    try perform("systemctl --user show --property \(property) --value \(unit)")
  }

  /// As of the machine's service.
  func state() throws -> String {
    let state = try property("ActiveState")
    guard state == "activating" else { return state }
    try run("systemctl --user start imgd.service")
    return try property("ActiveState")
  }

  /// The number out here of the main process.
  func process() throws -> pid_t {
    guard let inside = pid_t(try property("MainPID")), inside > 0 else {
      throw TestFailure("it does not run\n\(try machine.recentJournal())")
    }
    return try machine.process(inside: inside)
  }

  /// Has imgctl fetch what the origin has there: the daemon's answer.
  func fetch(_ path: String) throws -> JSONValue {
    try JSONValue(parsing: try perform("imgctl fetch --json \(origin.url(path))"))
  }

  /// A counter of the daemon that imgctl finds by itself.
  func stats(_ object: String, _ name: String) throws -> JSONValue? {
    try JSONValue(parsing: try perform("imgctl stats --json"))[object]?[name]
  }
}
