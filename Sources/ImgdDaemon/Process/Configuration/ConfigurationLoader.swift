import Glibc
package import ImgdProgram
package import ImgdSystem

/// Builds the daemon's configuration from files, environment and command line.
package enum ConfigurationLoader {
  package static let systemFile = "/etc/imgd/imgd.conf"

  /// Reads files, environment and command line; each overrides the one before.
  package static func load(
    _ options: CommandLineOptions, environment: [String: String], uid: UInt32 = geteuid(),
    systemFile: String = ConfigurationLoader.systemFile, warn: (String) -> Void = { _ in }
  ) throws(ConfigurationProblems) -> Configuration {
    let instance = Instance(environment: environment, uid: uid)
    let files = OriginFiles(options, environment: environment)
    return try places(options, of: instance, systemFile: systemFile)
      .read(over: instance.defaults, completing: files.complete, warn: warn)
  }

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
    if !isOfSystem {
      configuration.control.see = .all
      configuration.control.purge = .all
      configuration.control.put = .all
    }
    return configuration
  }

  /// Whether the daemon runs as a user of the system, or as one of systemd's dynamic ones: it serves several users then.
  private var isOfSystem: Bool { uid < 1_000 || (61_184...65_519).contains(uid) }

  /// The directory that systemd has created for the service, or the default one.
  private var cacheDirectory: String {
    if let made = directory(named: "CACHE_DIRECTORY") { return made }
    guard !servesMachine else { return Configuration.Disk().directory }
    if let named = environment["XDG_CACHE_HOME"], named.hasPrefix("/") { return named + "/imgd" }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return Configuration.Disk().directory }
    return home + "/.cache/imgd"
  }
}

/// The options on the daemon's command line.
package struct CommandLineOptions: Equatable {
  /// The action of the program; all actions except `run` write to standard output and exit.
  package enum Action: Equatable, Sendable { case run, checkConfiguration, printConfiguration, version, help }

  package private(set) var action = Action.run
  /// The file to read in place of the usual one.
  package private(set) var configurationFile: String?
  private(set) var settings: [CommandLineSetting] = []
  /// Whether an entry is logged for each request.
  package private(set) var isVerbose = false

  package init() {}

  private static let options = [
    CommandLineOption("config", letter: "c", takesValue: true),
    CommandLineOption("socket", takesValue: true),
    CommandLineOption("cache-directory", takesValue: true),
    CommandLineOption("set", takesValue: true),
    CommandLineOption("verbose", letter: "v"),
    CommandLineOption("check-config"),
    CommandLineOption("print-config"),
    CommandLineOption("version", letter: "V"),
    CommandLineOption("help", letter: "h"),
  ]

  /// The text of `--help`.
  package static let help = """
    Usage: imgd [OPTION]...
    Downloads and caches pictures for every program of this machine.

      -c, --config FILE            read FILE and FILE.d/*.conf instead of the usual files
          --socket PATH            listen on PATH
          --cache-directory DIR    keep pictures in DIR
          --set Section.Key=VALUE  set one key of the configuration; may be repeated
      -v, --verbose                log every request
          --check-config           check the configuration, and exit
          --print-config           print the configuration in force with explanations, and exit
      -V, --version                print the version, and exit
      -h, --help                   print this help, and exit

    The command line overrides the environment (IMGD_SECTION_KEY), which overrides the files.

    """

  /// Reads the arguments that follow the program's name.
  package static func parse(_ arguments: [String]) throws(UsageProblem) -> CommandLineOptions {
    var result = CommandLineOptions()
    var scanner = CommandLineScanner(arguments, options: options)
    while let item = try scanner.next() { try result.read(item) }
    return result
  }

  private mutating func read(_ item: CommandLineScanner.Item) throws(UsageProblem) {
    switch item {
    case .operand(let operand): throw UsageProblem("unexpected argument '\(shown(operand))': imgd takes only options")
    case .option("config", let value): configurationFile = try operand(value, of: "--config", "a file")
    case .option("socket", let value):
      let path = try operand(value, of: "--socket", "a path")
      settings.append(CommandLineSetting("--socket", .control, "Socket", path))
    case .option("cache-directory", let value):
      let path = try operand(value, of: "--cache-directory", "a path")
      settings.append(CommandLineSetting("--cache-directory", .disk, "Directory", path))
    case .option("set", let value): settings.append(try CommandLineSetting(value ?? "", for: Configuration.self))
    case .option("verbose", _): isVerbose = true
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
