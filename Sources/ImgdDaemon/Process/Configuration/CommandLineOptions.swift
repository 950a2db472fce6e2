package import ImgdSystem

/// What the daemon was asked on its command line.
package struct CommandLineOptions: Equatable {
  /// What to do; all but `run` answer on standard output and end.
  package enum Action: Equatable, Sendable {
    case run, checkConfiguration, printConfiguration, version, help
  }

  package private(set) var action = Action.run
  /// The file to read in place of the usual one.
  package private(set) var configurationFile: String?
  private(set) var settings: [Setting] = []

  package init() {}

  /// One `--set` or `--socket`, whose key or section may still turn out not to exist.
  struct Setting: Equatable {
    var assignment: ConfigurationAssignment?
    var problem: String?
  }

  private static let options = [
    CommandLineOption("config", letter: "c", takesValue: true),
    CommandLineOption("socket", takesValue: true),
    CommandLineOption("cache-directory", takesValue: true),
    CommandLineOption("set", takesValue: true),
    CommandLineOption("check-config"),
    CommandLineOption("print-config"),
    CommandLineOption("version", letter: "V"),
    CommandLineOption("help", letter: "h"),
  ]

  /// What `--help` prints.
  package static let help = """
    Usage: imgd [OPTION]...
    Downloads and caches pictures for every program of this machine.

      -c, --config FILE            read FILE and FILE.d/*.conf instead of the usual files
          --socket PATH            listen on PATH
          --cache-directory DIR    keep pictures in DIR
          --set Section.Key=VALUE  set one key of the configuration; may be repeated
          --check-config           say whether the configuration is good, and end
          --print-config           print the configuration in force, explained, and end
      -V, --version                print the version, and end
      -h, --help                   print this, and end

    The command line wins over the environment (IMGD_SECTION_KEY), and that over the files.

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
      throw UsageProblem("unexpected argument '\(shown(operand))': imgd takes options alone")
    case .option("config", let value): configurationFile = try named(value, "--config", "a file")
    case .option("socket", let value):
      set("--socket", .control, "Socket", try named(value, "--socket", "a path"))
    case .option("cache-directory", let value):
      set("--cache-directory", .disk, "Directory", try named(value, "--cache-directory", "a path"))
    case .option("set", let value): try set(value ?? "")
    case .option("check-config", _): ask(.checkConfiguration)
    case .option("print-config", _): ask(.printConfiguration)
    case .option("version", _): ask(.version)
    case .option: ask(.help)
    }
  }

  /// Help and version answer whatever else was asked.
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
        "--set '\(shown(text))' sets nothing: write --set Section.Key=VALUE, "
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
