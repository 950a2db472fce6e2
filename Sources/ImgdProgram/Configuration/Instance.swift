/// Tells the machine's instance of a program from a user's own.
package struct Instance {
  package let environment: [String: String]
  package let uid: UInt32

  package init(environment: [String: String], uid: UInt32) {
    self.environment = environment
    self.uid = uid
  }

  /// The machine's service does not run as root, but it has the machine's configuration.
  package var servesMachine: Bool { uid == 0 || serviceConfiguration == "/etc/imgd" }

  /// Whether root checks the machine's configuration, which the service reads as another user.
  package var isCheckedByRoot: Bool { uid == 0 && (serviceConfiguration ?? "/etc/imgd") == "/etc/imgd" }

  private var serviceConfiguration: String? { directory(named: "CONFIGURATION_DIRECTORY") }

  /// A directory that systemd has created for the service; the first if there are several.
  package func directory(named name: String) -> String? {
    guard let first = environment[name]?.split(separator: ":").first, first.hasPrefix("/") else { return nil }
    return String(first)
  }

  /// The file to read if none is named; nil if the user has no home directory. Relative directories in the environment
  /// are ignored, as the XDG specification demands.
  package func configurationFile(system: String) -> String? {
    if let serviceConfiguration { return serviceConfiguration + "/imgd.conf" }
    if servesMachine { return system }
    if let named = environment["XDG_CONFIG_HOME"], named.hasPrefix("/") { return named + "/imgd/imgd.conf" }
    return environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.config/imgd/imgd.conf" : nil }
  }
}
