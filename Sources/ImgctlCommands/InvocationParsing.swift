package import ImgdSystem

extension Invocation {
  private static let general = [
    CommandLineOption("socket", takesValue: true),
    CommandLineOption("version", letter: "V"),
    CommandLineOption("help", letter: "h"),
  ]

  /// Reads the arguments that follow the program's name.
  package static func parse(_ arguments: [String]) throws(UsageProblem) -> Invocation {
    var invocation = Invocation(action: .help(nil))
    var scanner = CommandLineScanner(arguments, options: general)
    while let item = try scanner.next() {
      switch item {
      case .option("socket", let value): try invocation.setSocket(value)
      case .option("version", _): return Invocation(action: .version)
      case .option: return Invocation(action: .help(nil))
      case .operand(let word):
        try invocation.readVerb(word, scanner.rest)
        return invocation
      }
    }
    throw UsageProblem("a command is missing: write \(alternatives(Verb.allCases.map(\.rawValue)))")
  }

  private mutating func setSocket(_ value: String?) throws(UsageProblem) {
    guard let value, !value.isEmpty else { throw UsageProblem("--socket needs a path") }
    socket = value
  }

  private mutating func readVerb(_ word: String, _ rest: [String]) throws(UsageProblem) {
    let verb = try Self.verb(word)
    var arguments = VerbArguments()
    var scanner = CommandLineScanner(rest, options: verb.options + Self.general)
    while let item = try scanner.next() {
      switch item {
      case .option("socket", let value): try setSocket(value)
      case .option("version", _): return action = .version
      case .option("help", _): return action = .help(verb)
      case .option(let name, let value): arguments.options.append((name, value ?? ""))
      case .operand(let operand): arguments.operands.append(operand)
      }
    }
    action = try Self.action(verb, arguments)
  }

  static func verb(_ word: String) throws(UsageProblem) -> Verb {
    if let verb = Verb(rawValue: word) { return verb }
    let names = Verb.allCases.map(\.rawValue)
    let hint =
      nearestName(to: word, among: names).map { "did you mean \($0)?" }
      ?? "write \(alternatives(names))"
    throw UsageProblem("unknown command '\(printable(word))': \(hint)")
  }

  private static func action(
    _ verb: Verb, _ arguments: VerbArguments
  ) throws(UsageProblem) -> Action {
    switch verb {
    case .fetch: return .fetch(try FetchArguments(arguments))
    case .cancel: return .cancel(try CancelTarget(arguments))
    case .purge: return .purge(try PurgeFilters(arguments))
    case .stats: return .stats(json: try arguments.onlyJSON(verb))
    case .list: return .list(json: try arguments.onlyJSON(verb))
    case .reload:
      try arguments.refuseOperands(verb)
      return .reload
    case .ping:
      try arguments.refuseOperands(verb)
      return .ping
    case .help: return .help(try arguments.operands.first.map(Self.verb))
    }
  }
}
