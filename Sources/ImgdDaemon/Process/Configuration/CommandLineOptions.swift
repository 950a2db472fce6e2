package import ImgdSystem

/// The options on the daemon's command line.
package struct CommandLineOptions: Equatable {
  /// The action of the program; all actions except `run` write to standard output and exit.
  package enum Action: Equatable, Sendable {
    case run, checkConfiguration, printConfiguration, version, help
  }

  package private(set) var action = Action.run
  /// The file to read in place of the usual one.
  package private(set) var configurationFile: String?
  private(set) var settings: [Setting] = []
  /// Log an entry for each request.
  package private(set) var isVerbose = false

  package init() {}

  /// The value of one key from `--set`, `--socket` or `--cache-directory`. The key may not exist; a
  /// problem is one that was found while the option was read.
  struct Setting: Equatable {
    var assignment: ConfigurationAssignment?
    var problem: String?
  }

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
    while let item = try scanner.next() { try result.take(item) }
    return result
  }

  private mutating func take(_ item: CommandLineScanner.Item) throws(UsageProblem) {
    switch item {
    case .operand(let operand):
      throw UsageProblem("unexpected argument '\(shown(operand))': imgd takes only options")
    case .option("config", let value): configurationFile = try named(value, "--config", "a file")
    case .option("socket", let value):
      set("--socket", .control, "Socket", try named(value, "--socket", "a path"))
    case .option("cache-directory", let value):
      set("--cache-directory", .disk, "Directory", try named(value, "--cache-directory", "a path"))
    case .option("set", let value): try set(value ?? "")
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

  private func named(
    _ value: String?, _ option: String, _ what: String
  ) throws(UsageProblem) -> String {
    guard let value, !value.isEmpty else { throw UsageProblem("\(option) needs \(what)") }
    return value
  }

  private mutating func set(
    _ option: String, _ section: ConfigurationSection, _ key: String, _ value: String
  ) {
    let assignment = ConfigurationAssignment(
      origin: option, section: section, key: key, value: value)
    settings.append(Setting(assignment: assignment))
  }

  private mutating func set(_ text: String) throws(UsageProblem) {
    guard let equals = text.firstIndex(of: "="),
      let dot = text[..<equals].firstIndex(of: "."), dot != text.startIndex
    else {
      throw UsageProblem(
        "--set '\(shown(text))' is not an assignment: write --set Section.Key=VALUE, "
          + "such as --set Memory.Capacity=200M")
    }
    let section = String(text[..<dot])
    guard let known = ConfigurationSection(rawValue: section) else {
      return settings.append(Setting(problem: "--set: \(unknownSection(section))"))
    }
    let key = String(text[text.index(after: dot)..<equals])
    let value = String(text[text.index(after: equals)...])
    settings.append(
      Setting(
        assignment: ConfigurationAssignment(
          origin: "--set", section: known, key: key, value: value)))
  }
}
