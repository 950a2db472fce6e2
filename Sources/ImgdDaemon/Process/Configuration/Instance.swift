import ImgdSystem

/// Tells the machine's daemon from a user's own, and knows the default paths of both.
struct Instance {
  let environment: [String: String]
  let uid: UInt32

  /// The machine's service does not run as root, but it has the machine's configuration.
  private var servesMachine: Bool { uid == 0 || serviceConfiguration == "/etc/imgd" }

  /// The configuration directory that systemd or the unit has set for the service.
  private var serviceConfiguration: String? { directory(named: "CONFIGURATION_DIRECTORY") }

  /// The defaults, with the paths of this instance.
  var defaults: Configuration {
    var configuration = Configuration()
    configuration.control.socket =
      servesMachine
      ? ControlSocketPlace.system : ControlSocketPlace.user(environment: environment, uid: uid)
    configuration.disk.directory = cacheDirectory
    return configuration
  }

  /// A directory that systemd has created for the service; the first if there are several.
  private func directory(named name: String) -> String? {
    guard let first = environment[name]?.split(separator: ":").first, first.hasPrefix("/") else {
      return nil
    }
    return String(first)
  }

  /// The directory that systemd has created for the service, or the default one.
  private var cacheDirectory: String {
    if let made = directory(named: "CACHE_DIRECTORY") { return made }
    guard !servesMachine else { return Configuration.Disk().directory }
    if let named = environment["XDG_CACHE_HOME"], named.hasPrefix("/") { return named + "/imgd" }
    guard let home = environment["HOME"], home.hasPrefix("/") else {
      return Configuration.Disk().directory
    }
    return home + "/.cache/imgd"
  }

  /// The file to read if none is named; nil if the user has no home directory.
  func configurationFile(system: String) -> String? {
    if let serviceConfiguration { return serviceConfiguration + "/imgd.conf" }
    if servesMachine { return system }
    return configurationHome.map { $0 + "/imgd/imgd.conf" }
  }

  /// Relative directories in the environment are ignored, as the XDG specification demands.
  private var configurationHome: String? {
    if let named = environment["XDG_CONFIG_HOME"], named.hasPrefix("/") { return named }
    return environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.config" : nil }
  }
}
