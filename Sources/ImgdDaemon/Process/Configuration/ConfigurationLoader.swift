import Glibc
package import ImgdProgram
import ImgdSystem

/// Builds the daemon's configuration from files, environment and command line.
package enum ConfigurationLoader {
  package static let systemFile = "/etc/imgd/imgd.conf"

  /// Reads files, environment and command line; each overrides the one before.
  package static func load(
    _ options: CommandLineOptions, environment: [String: String], uid: UInt32 = geteuid(),
    systemFile: String = ConfigurationLoader.systemFile, warn: (String) -> Void = { _ in }
  ) throws(ConfigurationProblems) -> Configuration {
    let instance = Instance(environment: environment, uid: uid)
    return try places(options, of: instance, systemFile: systemFile).read(over: instance.defaults, warn: warn)
  }

  /// The configuration files that the service reads.
  static func files(_ options: CommandLineOptions, environment: [String: String]) -> [String] {
    places(options, of: Instance(environment: environment, uid: geteuid())).files
  }

  private static func places(
    _ options: CommandLineOptions, of instance: Instance, systemFile: String = ConfigurationLoader.systemFile
  ) -> ConfigurationPlaces {
    ConfigurationPlaces(
      named: options.configurationFile, usual: instance.configurationFile(system: systemFile),
      environment: instance.environment, settings: options.settings)
  }
}

extension Instance {
  /// The defaults of the daemon, with the paths of this instance.
  var defaults: Configuration {
    var configuration = Configuration()
    configuration.control.socket =
      servesMachine ? ControlSocketPlace.system : ControlSocketPlace.user(environment: environment, uid: uid)
    configuration.disk.directory = cacheDirectory
    return configuration
  }

  /// The directory that systemd has created for the service, or the default one.
  private var cacheDirectory: String {
    if let made = directory(named: "CACHE_DIRECTORY") { return made }
    guard !servesMachine else { return Configuration.Disk().directory }
    if let named = environment["XDG_CACHE_HOME"], named.hasPrefix("/") { return named + "/imgd" }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return Configuration.Disk().directory }
    return home + "/.cache/imgd"
  }
}
