package import ImgdSystem

/// A command line: the command, and the options that every command has.
package struct Invocation {
  let work: KnownVerb.Work
  package let manner: Manner

  /// The options that every command has, before or after its name.
  static let general = [
    VerbOption(
      "socket", nil, .file("PATH"), help: "the daemon's socket; default: $IMGD_SOCKET, your own, the machine's"),
    VerbOption("quiet", "q", help: "no progress and no remarks; errors are still printed"),
    VerbOption("verbose", "v", help: "show what is sent to the daemon and what it answers"),
    VerbOption("color", nil, .choice("WHEN", ["auto", "always", "never"]), help: "colours: auto, always or never"),
    VerbOption("help", "h", help: "explain imgctl, or the command"),
    VerbOption("version", "V", help: "print the version of imgctl"),
  ]

  /// Reads the arguments that follow the program's name.
  package static func parse(_ arguments: [String]) throws(UsageProblem) -> Invocation {
    if arguments.first == UnfinishedLine.command {
      let line = try UnfinishedLine(arguments.dropFirst())
      return Invocation(work: line.offer, manner: line.manner)
    }
    let beginning = try LineBeginning(arguments)
    if let verb = beginning.verb { return try read(verb, beginning.items) }
    let manner = try Manner(beginning.options)
    if let work = work(of: beginning.options, about: nil) { return Invocation(work: work, manner: manner) }
    throw UsageProblem("a command is missing: imgctl help lists the commands")
  }

  /// The work that `--version` or `--help` asks for in place of the command's own; nil if neither was given.
  private static func work(of options: [CommandLineScanner.Item], about verb: VerbDescription?) -> KnownVerb.Work? {
    if options.contains(.option("version", value: nil)) { return Version.printOwn }
    guard options.contains(.option("help", value: nil)) else { return nil }
    return KnownVerb.work(of: Help(about: verb))
  }

  private static func read(_ verb: KnownVerb, _ given: [CommandLineScanner.Item]) throws(UsageProblem) -> Invocation {
    let description = verb.description
    var items: [CommandLineScanner.Item] = []
    var common: [CommandLineScanner.Item] = []
    for item in given {
      if case .option(let name, _) = item, general.contains(where: { $0.name == name }) {
        common.append(item)
      } else {
        items.append(item)
      }
    }
    var manner = try Manner(common)
    if let work = work(of: common, about: description) { return Invocation(work: work, manner: manner) }
    let arguments = try Arguments(items, of: description)
    manner.asJSON = arguments.has("json")
    return Invocation(work: try verb.read(arguments), manner: manner)
  }
}

/// How imgctl behaves, whatever the command.
package struct Manner: Equatable, Sendable {
  /// When text is coloured.
  package enum Colour: String, Sendable { case auto, always, never }

  package let socket: String?
  package let isQuiet: Bool
  package let isVerbose: Bool
  package let colour: Colour
  /// Whether answers are printed as the JSON that the daemon sent; only some commands have this option.
  package fileprivate(set) var asJSON = false

  init(_ items: [CommandLineScanner.Item]) throws(UsageProblem) {
    let arguments = try Arguments(items, of: VerbDescription("imgctl", "", options: Invocation.general))
    socket = arguments.text("socket")
    isQuiet = arguments.has("quiet")
    isVerbose = arguments.has("verbose")
    colour = arguments.text("color").flatMap(Colour.init) ?? .auto
    if isQuiet, isVerbose { throw UsageProblem("--quiet and --verbose exclude each other") }
  }
}
