internal import CLinux

/// The environment that the process was started with.
package enum ProcessEnvironment {
  /// Every variable by name; entries without `=` are left out.
  package static var all: [String: String] {
    var variables: [String: String] = [:]
    guard var entry = unsafe linux_environment() else { return variables }
    while let text = unsafe entry.pointee {
      let line = unsafe String(cString: text)
      if let equals = line.firstIndex(of: "=") {
        variables[String(line[..<equals])] = String(line[line.index(after: equals)...])
      }
      unsafe entry += 1
    }
    return variables
  }
}

/// The default path of an instance's control socket.
package enum ControlSocketPlace {
  /// The socket of the system instance.
  package static let system = "/run/imgd/imgd.sock"

  /// The socket of a user's own instance; without XDG_RUNTIME_DIR, in the directory that logind
  /// creates.
  package static func user(environment: [String: String], uid: UInt32) -> String {
    let named = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    return (named ?? "/run/user/\(uid)") + "/imgd/imgd.sock"
  }
}
