import ImgdSystem

/// Whose daemon this is: the machine's, or one user's own.
struct Instance {
  let environment: [String: String]
  let uid: UInt32

  /// The machine's service has a user of its own; that its configuration is the machine's tells it
  /// from a daemon that a user has started.
  private var servesMachine: Bool { uid == 0 || serviceConfiguration == "/etc/imgd" }

  /// Where systemd keeps the service's configuration.
  private var serviceConfiguration: String? { directory(named: "CONFIGURATION_DIRECTORY") }

  /// The defaults, with the socket where clients of this instance look for it.
  var defaults: Configuration {
    var configuration = Configuration()
    configuration.control.socket =
      servesMachine
      ? ControlSocketPlace.system : ControlSocketPlace.user(environment: environment, uid: uid)
    configuration.disk.directory = cacheDirectory
    return configuration
  }

  /// A directory that systemd has made for the service; of several the first.
  private func directory(named name: String) -> String? {
    guard let first = environment[name]?.split(separator: ":").first, first.hasPrefix("/") else {
      return nil
    }
    return String(first)
  }

  /// What systemd has made for the service, or the usual place.
  private var cacheDirectory: String {
    if let made = directory(named: "CACHE_DIRECTORY") { return made }
    guard !servesMachine else { return Configuration.Disk().directory }
    if let named = environment["XDG_CACHE_HOME"], named.hasPrefix("/") { return named + "/imgd" }
    guard let home = environment["HOME"], home.hasPrefix("/") else {
      return Configuration.Disk().directory
    }
    return home + "/.cache/imgd"
  }

  /// The file to read when none is named; nil when the user has no home to keep one in.
  func configurationFile(system: String) -> String? {
    if let serviceConfiguration { return serviceConfiguration + "/imgd.conf" }
    if servesMachine { return system }
    return configurationHome.map { $0 + "/imgd/imgd.conf" }
  }

  /// Relative directories in the environment are ignored, as their standard has it.
  private var configurationHome: String? {
    if let named = environment["XDG_CONFIG_HOME"], named.hasPrefix("/") { return named }
    return environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.config" : nil }
  }
}
