package import ImgdSystem
import ImgdWire

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
    let beginning = try LineBeginning.of(arguments)
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
    func isGeneral(_ item: CommandLineScanner.Item) -> Bool {
      if case .option(let name, _) = item { general.contains { $0.name == name } } else { false }
    }
    let common = given.filter(isGeneral)
    var manner = try Manner(common)
    if let work = work(of: common, about: description) { return Invocation(work: work, manner: manner) }
    let arguments = try Arguments(given.filter { !isGeneral($0) }, of: description)
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

// The place of the command is not known until its name is found, and the name of a command may also be the value of an
// option: `-o list fetch URL`. The options before a command are those that every command has or, if there are others,
// options of that command: the first name that fits is taken. Two names can fit only if an option takes a value with
// one command and none with the other, and a test makes sure that such a value is a number.

/// A command line up to its command: the options before it, and what follows it.
struct LineBeginning {
  let options: [CommandLineScanner.Item]
  let verb: KnownVerb?
  let rest: [String]

  static func of(_ arguments: [String]) throws(UsageProblem) -> LineBeginning {
    let start: Start
    do throws(UsageProblem) { start = try Start(arguments[...], Invocation.general.map { $0.scanned }) } catch {
      guard let found = try afterOwnOptions(arguments) else { throw error }
      return found
    }
    var verb: KnownVerb?
    if let word = start.operand { verb = try Verbs.named(word) }
    return LineBeginning(options: start.options, verb: verb, rest: start.rest)
  }

  /// All options and operands.
  var items: [CommandLineScanner.Item] {
    get throws(UsageProblem) {
      guard let verb else { return options }
      var scanner = CommandLineScanner(rest, options: verb.description.scanned)
      var items = options
      while let item = try scanner.next() { items.append(item) }
      return items
    }
  }

  /// A command after options of its own. If no command fits, the error is the one that the first command named finds in
  /// the options.
  private static func afterOwnOptions(_ arguments: [String]) throws(UsageProblem) -> LineBeginning? {
    var problem: UsageProblem?
    for (place, word) in arguments.enumerated() {
      guard let verb = Verbs.all.first(where: { $0.description.name == word }) else { continue }
      do throws(UsageProblem) {
        let start = try Start(arguments[..<place], verb.description.scanned)
        if start.operand == nil {
          return LineBeginning(options: start.options, verb: verb, rest: Array(arguments[(place + 1)...]))
        }
      } catch { problem = problem ?? error }
    }
    if let problem { throw problem }
    return nil
  }

  /// Arguments up to the first operand.
  private struct Start {
    private(set) var options: [CommandLineScanner.Item] = []
    private(set) var operand: String?
    private(set) var rest: [String] = []

    init(_ arguments: ArraySlice<String>, _ known: [CommandLineOption]) throws(UsageProblem) {
      var scanner = CommandLineScanner(arguments, options: known)
      while operand == nil, let item = try scanner.next() {
        if case .operand(let word) = item { operand = word } else { options.append(item) }
      }
      rest = scanner.rest
    }
  }
}

/// The arguments of one command, each of the kind that the command's description asks for.
struct Arguments {
  let operands: [String]
  private var values: [String: [String]] = [:]

  /// Sorts the arguments of a command into operands and options, and refuses those that the command does not take.
  init(_ items: [CommandLineScanner.Item], of verb: VerbDescription) throws(UsageProblem) {
    var operands: [String] = []
    for item in items {
      switch item {
      case .operand(let operand): operands.append(operand)
      case .option(let name, let value): values[name, default: []].append(value ?? "")
      }
    }
    self.operands = operands
    for option in verb.options { try check(option, of: verb) }
    try checkOperands(of: verb)
  }

  func has(_ name: String) -> Bool { values[name] != nil }

  /// The value of an option that is given once.
  func text(_ name: String) -> String? { values[name]?.last }

  /// All values of an option that may be repeated.
  func texts(_ name: String) -> [String] { values[name] ?? [] }

  /// The value of an option that is one of a few words.
  func word<Word: RawRepresentable<String>>(_ name: String) -> Word? { text(name).flatMap { Word(rawValue: $0) } }

  func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

  func size(_ name: String) -> Int? { text(name).flatMap(SizeText.bytes) }

  func duration(_ name: String) -> Duration? { text(name).flatMap(DurationText.duration) }

  /// The formats of `--format`, in their order.
  var formats: [OutputFormat] {
    let named = texts("format").compactMap(OutputFormat.init(named:))
    return named.isEmpty ? [.original] : named
  }

  private func check(_ option: VerbOption, of verb: VerbDescription) throws(UsageProblem) {
    let given = texts(option.name)
    guard given.count <= 1 || option.repeats || option.value == nil else {
      throw UsageProblem("\(verb.name) takes one --\(option.name), and \(given.count) were given")
    }
    for value in given { try option.value?.check(value, of: "--\(option.name)") }
  }

  private func checkOperands(of verb: VerbDescription) throws(UsageProblem) {
    let allowed = verb.operands
    if operands.count < allowed.count.lowerBound {
      let isVowel = allowed.word.first.map { "AEIO".contains($0) } == true
      let article = allowed.count.lowerBound > 1 ? "" : isVowel ? "an " : "a "
      throw UsageProblem("\(verb.name) needs \(article)\(allowed.word)")
    }
    if allowed.word == "URL", operands.contains("") { throw UsageProblem("\(verb.name) needs a URL, and '' is none") }
    if case .choice(let choices) = allowed.kind {
      for operand in operands { try checkChoice(operand, of: verb.name, among: choices) }
    }
    guard operands.count > allowed.count.upperBound else { return }
    let surplus = printable(operands[allowed.count.upperBound])
    throw UsageProblem(
      allowed.count.upperBound == 0
        ? "\(verb.name) takes no arguments: leave out '\(surplus)'"
        : "\(verb.name) takes \(allowed.count.upperBound == 1 ? "one " : "")\(allowed.word): leave out '\(surplus)'")
  }
}
