import Glibc
import ImgdProgram

/// Where the configuration comes from, at the start and at each reload.
struct ConfigurationSource: Sendable {
  let options: CommandLineOptions
  let environment: [String: String]
  /// The path of the socket in use, if the configuration does not decide it.
  private var socket: String?

  init(options: CommandLineOptions, environment: [String: String]) {
    self.options = options
    self.environment = environment
  }

  /// `warn` gets a line for each setting that has no effect.
  func load(warn: (String) -> Void) throws(ConfigurationProblems) -> Configuration {
    try ConfigurationLoader.load(options, environment: environment, warn: warn)
  }

  /// The files that the service has to be able to read with this configuration.
  func files(of configuration: Configuration) -> [ServiceFile] {
    var files = ConfigurationLoader.files(options, environment: environment).map { ServiceFile($0) }
    files.append(ServiceFile(configuration.network.caFile))
    let fleet = configuration.fleet
    if !fleet.server.isEmpty, !fleet.passwordFile.isEmpty {
      files.append(ServiceFile(fleet.passwordFile, isSecret: true))
    }
    return files
  }

  /// The same source for a daemon whose socket is already open.
  func served(at socket: String) -> ConfigurationSource {
    var source = self
    source.socket = socket
    return source
  }

  /// Whether a directory is, or is inside, the one that the service manager makes at every start.
  func isManagers(_ directory: String) -> Bool {
    let instance = Instance(environment: environment, uid: geteuid())
    guard let made = instance.directory(named: "CACHE_DIRECTORY") else { return false }
    return directory == made || directory.hasPrefix(made + "/")
  }

  /// Warns if the configuration names a socket that is not used because systemd has made another one.
  func warnOfUnusedSocket(in wanted: Configuration) {
    let usual = Instance(environment: environment, uid: geteuid()).defaults.control.socket
    guard let socket, wanted.control.socket != socket, wanted.control.socket != usual else { return }
    Log.warning(
      .configuration,
      "Control.Socket=\(wanted.control.socket) is not used: systemd has made \(socket); "
        + "set ListenStream= to move it (systemctl edit imgd.socket)")
  }

  /// The configuration with the actual value of each setting that it cannot decide.
  func adapted(_ configuration: Configuration) -> Configuration {
    var configuration = configuration
    if let socket { configuration.control.socket = socket }
    return configuration
  }
}
