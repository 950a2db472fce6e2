// The place of the command is not known until its name is found, and the name of a command may also be the value of an
// option: `-o list fetch URL`. The options before a command are those that every command has or, if there are others,
// options of that command: the first name that fits is taken. Two names can fit only if an option takes a value with
// one command and none with the other, and a test makes sure that such a value is a number.

import ImgdSystem

/// A command line up to its command: the options before it, and what follows it.
struct LineBeginning {
  let options: [CommandLineScanner.Item]
  /// Nil if no command is named.
  let verb: KnownVerb?
  let rest: [String]

  init(_ arguments: [String]) throws(UsageProblem) {
    let start: Start
    do throws(UsageProblem) { start = try Start(arguments[...], Invocation.general.map { $0.scanned }) } catch {
      guard let found = try Self.afterOwnOptions(arguments) else { throw error }
      self = found
      return
    }
    var verb: KnownVerb?
    if let word = start.operand { verb = try Verbs.named(word) }
    self.init(options: start.options, verb: verb, rest: start.rest)
  }

  private init(options: [CommandLineScanner.Item], verb: KnownVerb?, rest: [String]) {
    self.options = options
    self.verb = verb
    self.rest = rest
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

extension VerbDescription {
  /// The options that the command takes, in the scanner's form.
  var scanned: [CommandLineOption] { (options + Invocation.general).map { $0.scanned } }
}
