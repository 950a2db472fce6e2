package import ImgdProgram
package import ImgdSystem

/// The options on the gateway's command line.
package struct GatewayOptions: Equatable {
  /// The action of the program; all actions except `run` write to standard output and exit.
  package enum Action: Equatable, Sendable { case run, checkConfiguration, printConfiguration, version, help }

  package private(set) var action = Action.run
  /// The daemon's socket, in place of the one that is found.
  package private(set) var socket: String?
  private var configurationFile: String?
  private var settings: [CommandLineSetting] = []

  package static let systemFile = "/etc/imgd/imgd.conf"

  private static let options = [
    CommandLineOption("config", letter: "c", takesValue: true),
    CommandLineOption("socket", takesValue: true),
    CommandLineOption("listen", takesValue: true),
    CommandLineOption("set", takesValue: true),
    CommandLineOption("check-config"),
    CommandLineOption("print-config"),
    CommandLineOption("version", letter: "V"),
    CommandLineOption("help", letter: "h"),
  ]

  /// The text of `--help`.
  package static let help = """
    Usage: imgd-http [OPTION]...
    Hands out imgd's pictures over HTTP, to programs and web servers of this machine.

      -c, --config FILE            read FILE and FILE.d/*.conf instead of the usual files
          --socket PATH            the daemon's socket; default: $IMGD_SOCKET, your own, the machine's
          --listen PLACE           listen on a path, 127.0.0.1:PORT or [::1]:PORT
          --set HTTP-Gateway.Key=VALUE
                                   set one key of the configuration; may be repeated
          --check-config           check the configuration, and exit
          --print-config           print the configuration in force with explanations, and exit
      -V, --version                print the version, and exit
      -h, --help                   print this help, and exit

    The command line overrides the environment (IMGD_HTTP_GATEWAY_KEY), which overrides the files.

    """

  /// Reads the arguments that follow the program's name.
  package static func parse(_ arguments: [String]) throws(UsageProblem) -> GatewayOptions {
    var result = GatewayOptions()
    var scanner = CommandLineScanner(arguments, options: options)
    while let item = try scanner.next() { try result.read(item) }
    return result
  }

  /// The configuration of files, environment and command line; each overrides the one before.
  package func configuration(environment: [String: String], uid: UInt32, systemFile: String = GatewayOptions.systemFile)
    throws(ConfigurationProblems) -> GatewayConfiguration
  {
    let instance = Instance(environment: environment, uid: uid)
    var defaults = GatewayConfiguration()
    if !instance.servesMachine { defaults.listen = .unix(Self.place(besides: environment, uid: uid)) }
    return try places(of: instance, systemFile: systemFile).read(over: defaults) { _ in }
  }

  /// The files that a service reads.
  func files(of instance: Instance) -> [String] { places(of: instance, systemFile: Self.systemFile).files }

  private func places(of instance: Instance, systemFile: String) -> ConfigurationPlaces {
    ConfigurationPlaces(
      named: configurationFile, usual: instance.configurationFile(system: systemFile),
      environment: instance.environment, settings: settings)
  }

  /// The path of a user's own gateway, in the directory of the user's own daemon.
  private static func place(besides environment: [String: String], uid: UInt32) -> String {
    let daemon = ControlSocketPlace.user(environment: environment, uid: uid)
    return String(daemon.dropLast("imgd.sock".count)) + "http.sock"
  }

  private mutating func read(_ item: CommandLineScanner.Item) throws(UsageProblem) {
    switch item {
    case .operand(let operand):
      throw UsageProblem("unexpected argument '\(shown(operand))': imgd-http takes only options")
    case .option("config", let value): configurationFile = try operand(value, of: "--config", "a file")
    case .option("socket", let value): socket = try operand(value, of: "--socket", "a path")
    case .option("listen", let value):
      let place = try operand(value, of: "--listen", "a path or 127.0.0.1:PORT")
      settings.append(CommandLineSetting("--listen", .gateway, "Listen", place))
    case .option("set", let value): settings.append(try CommandLineSetting(value ?? "", for: GatewayConfiguration.self))
    case .option("check-config", _): ask(.checkConfiguration)
    case .option("print-config", _): ask(.printConfiguration)
    case .option("version", _): ask(.version)
    case .option: ask(.help)
    }
  }

  /// Help and version take precedence over other actions.
  private mutating func ask(_ wanted: Action) {
    if action == .help || action == .version { return }
    action = wanted
  }
}
