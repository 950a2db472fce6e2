/// Where the control socket of an instance is, when nobody says otherwise.
package enum ControlSocketPlace {
  /// The socket of the instance that serves the whole machine.
  package static let system = "/run/imgd/imgd.sock"

  /// The socket of a user's own instance; without a runtime directory in the environment, in the
  /// one that logind would have made.
  package static func user(environment: [String: String], uid: UInt32) -> String {
    let named = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    return (named ?? "/run/user/\(uid)") + "/imgd/imgd.sock"
  }
}
