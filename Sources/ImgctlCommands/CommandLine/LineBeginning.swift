// Where the command stands is not known before its name is found, and the name of a command may be the value of an
// option: `-o list fetch URL`. What stands before a command are options that every command has or, where there are
// others, options of that command: the first name that fits is taken. Where two fit, an option would have to take a
// value with one command and none with the other, and a test makes sure that such a value is a number.

import ImgdSystem

/// A command line up to its command: the options before it, and what follows it.
struct LineBeginning {
  let options: [CommandLineScanner.Item]
  /// Nil where there is none.
  let verb: KnownVerb?
  let rest: [String]

  init(_ arguments: [String]) throws(UsageProblem) {
    let start: Start
    do throws(UsageProblem) {
      start = try Start(arguments[...], Invocation.general.map { $0.scanned })
    } catch {
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

  /// A command after options of its own. Where there is none, what is wrong with the options is told as the first
  /// command that is named sees it.
  private static func afterOwnOptions(_ arguments: [String]) throws(UsageProblem) -> LineBeginning?
  {
    var problem: UsageProblem?
    for (place, word) in arguments.enumerated() {
      guard let verb = Verbs.all.first(where: { $0.description.name == word }) else { continue }
      do throws(UsageProblem) {
        let start = try Start(arguments[..<place], verb.description.scanned)
        if start.operand == nil {
          return LineBeginning(
            options: start.options, verb: verb, rest: Array(arguments[(place + 1)...]))
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

    init(
      _ arguments: ArraySlice<String>, _ known: [CommandLineOption]
    ) throws(UsageProblem) {
      var scanner = CommandLineScanner(arguments, options: known)
      while operand == nil, let item = try scanner.next() {
        if case .operand(let word) = item { operand = word } else { options.append(item) }
      }
      rest = scanner.rest
    }
  }
}

extension VerbDescription {
  /// The options that the command takes, as the scanner knows them.
  var scanned: [CommandLineOption] { (options + Invocation.general).map { $0.scanned } }
}
