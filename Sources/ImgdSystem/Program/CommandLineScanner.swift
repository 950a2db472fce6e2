// Arguments are read the way getopt_long(3) reads them: `--name value` and `--name=value`, letters
// in a bundle (`-qo FILE`, `-oFILE`), a unique beginning for the whole name, operands anywhere, and
// `--` before operands that look like options. The function itself is not used: it keeps its place
// in global variables, so two threads (two tests) cannot scan at once, and it wants C strings that
// live as long as the scan.

/// Reads a program's arguments into options and operands, in the order in which they were given.
package struct CommandLineScanner {
  /// What one step of the scan found.
  package enum Item: Equatable {
    case option(String, value: String?)
    case operand(String)
  }

  private let options: [CommandLineOption]
  private var waiting: ArraySlice<String>
  private var bundle: Substring = ""
  private var onlyOperands = false

  /// The arguments come without the program's own name.
  package init(_ arguments: some Sequence<String>, options: [CommandLineOption]) {
    self.options = options
    waiting = Array(arguments)[...]
  }

  /// What has not been scanned yet: a verb's own arguments after the verb was met.
  package var rest: [String] { Array(waiting) }

  /// The next option or operand, nil at the end.
  package mutating func next() throws(UsageProblem) -> Item? {
    if let letter = bundle.popFirst() { return try short(letter) }
    guard let argument = waiting.popFirst() else { return nil }
    if onlyOperands || argument == "-" || !argument.hasPrefix("-") { return .operand(argument) }
    if argument == "--" {
      onlyOperands = true
      return try next()
    }
    if argument.hasPrefix("--") { return try long(argument.dropFirst(2)) }
    bundle = argument.dropFirst()
    return try next()
  }

  private mutating func long(_ text: Substring) throws(UsageProblem) -> Item {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let option = try named(String(parts.first ?? ""))
    if let value = parts.dropFirst().first {
      guard option.takesValue else {
        throw UsageProblem("--\(option.name) takes no value, but '\(value)' was given")
      }
      return .option(option.name, value: String(value))
    }
    return .option(option.name, value: try operandOf(option, shownAs: "--\(option.name)"))
  }

  private mutating func short(_ letter: Character) throws(UsageProblem) -> Item {
    guard let option = options.first(where: { $0.letter == letter }) else {
      throw UsageProblem("unknown option -\(letter): --help lists what there is")
    }
    if option.takesValue, !bundle.isEmpty {
      let value = String(bundle)
      bundle = ""
      return .option(option.name, value: value)
    }
    return .option(option.name, value: try operandOf(option, shownAs: "-\(letter)"))
  }

  private mutating func operandOf(
    _ option: CommandLineOption, shownAs shown: String
  ) throws(UsageProblem) -> String? {
    guard option.takesValue else { return nil }
    guard let value = waiting.popFirst() else {
      throw UsageProblem("\(shown) needs a value")
    }
    return value
  }

  private func named(_ name: String) throws(UsageProblem) -> CommandLineOption {
    if let exact = options.first(where: { $0.name == name }) { return exact }
    let candidates = options.filter { !name.isEmpty && $0.name.hasPrefix(name) }
    if candidates.count == 1, let only = candidates.first { return only }
    if candidates.count > 1 {
      let names = candidates.map { "--" + $0.name }.joined(separator: " or ")
      throw UsageProblem("--\(name) could mean \(names)")
    }
    let hint =
      nearestName(to: name, among: options.map(\.name)).map { "did you mean --\($0)?" }
      ?? "--help lists what there is"
    throw UsageProblem("unknown option --\(name): \(hint)")
  }
}
