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
    throw UsageProblem("say what to do: \(alternatives(Verb.allCases.map(\.rawValue)))")
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
      ?? "there is \(alternatives(names))"
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

/// A verb's options in their order, and its operands.
struct VerbArguments {
  var options: [(name: String, value: String)] = []
  var operands: [String] = []

  func refuseOperands(_ verb: Verb) throws(UsageProblem) {
    guard let first = operands.first else { return }
    throw UsageProblem("\(verb.rawValue) takes no argument '\(printable(first))'")
  }

  func onlyJSON(_ verb: Verb) throws(UsageProblem) -> Bool {
    try refuseOperands(verb)
    return !options.isEmpty
  }
}

extension Verb {
  /// The options that only this verb knows.
  var options: [CommandLineOption] {
    switch self {
    case .fetch:
      ["json", "progress"].map { CommandLineOption($0) }
        + ["cache", "identifier", "priority", "tag", "timeout", "max-bytes", "header"]
        .map { CommandLineOption($0, takesValue: true) }
        + [CommandLineOption("output", letter: "o", takesValue: true)]
    case .cancel:
      ["slot", "tag"].map { CommandLineOption($0, takesValue: true) } + [CommandLineOption("all")]
    case .purge:
      (PurgeFilters.textFields + ["older-than", "unused-for"])
        .map { CommandLineOption($0, takesValue: true) }
        + ["expired", "soft"].map { CommandLineOption($0) }
        + [CommandLineOption("all", letter: "y")]
    case .stats, .list: [CommandLineOption("json")]
    case .reload, .ping, .help: []
    }
  }
}
