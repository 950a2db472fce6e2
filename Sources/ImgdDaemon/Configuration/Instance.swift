import ImgdSystem

/// Whose daemon this is: the machine's, or one user's own.
struct Instance {
  let environment: [String: String]
  let uid: UInt32

  private var servesMachine: Bool { uid == 0 }

  /// The defaults, with the socket where clients of this instance look for it.
  var defaults: Configuration {
    var configuration = Configuration()
    configuration.control.socket =
      servesMachine
      ? ControlSocketPlace.system : ControlSocketPlace.user(environment: environment, uid: uid)
    configuration.disk.directory = cacheDirectory
    return configuration
  }

  /// What systemd has made for the service, or the usual place; several are separated by colons.
  private var cacheDirectory: String {
    if let made = environment["CACHE_DIRECTORY"]?.split(separator: ":").first,
      made.hasPrefix("/")
    {
      return String(made)
    }
    guard !servesMachine else { return Configuration.Disk().directory }
    if let named = environment["XDG_CACHE_HOME"], named.hasPrefix("/") { return named + "/imgd" }
    guard let home = environment["HOME"], home.hasPrefix("/") else {
      return Configuration.Disk().directory
    }
    return home + "/.cache/imgd"
  }

  /// The file to read when none is named; nil when the user has no home to keep one in.
  func configurationFile(system: String) -> String? {
    if servesMachine { return system }
    return configurationHome.map { $0 + "/imgd/imgd.conf" }
  }

  /// Relative directories in the environment are ignored, as their standard has it.
  private var configurationHome: String? {
    if let named = environment["XDG_CONFIG_HOME"], named.hasPrefix("/") { return named }
    return environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.config" : nil }
  }
}
