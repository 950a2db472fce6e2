import Glibc
import ImgdSystem

/// Where a client looks for the daemon.
package enum SocketSearch {
  /// The named socket, else the environment's, else the user's own daemon where one has a socket,
  /// else the machine's.
  package static func path(
    named: String?, environment: [String: String], uid: UInt32 = geteuid(),
    exists: (String) -> Bool = isThere
  ) -> String {
    if let named { return named }
    if let variable = environment["IMGD_SOCKET"], !variable.isEmpty { return variable }
    let own = ControlSocketPlace.user(environment: environment, uid: uid)
    return exists(own) ? own : ControlSocketPlace.system
  }

  /// Whether there is something of that name.
  package static func isThere(_ path: String) -> Bool {
    // The path is a C string for the length of the call.
    unsafe access(path, F_OK) == 0
  }
}
