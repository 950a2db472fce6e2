// Arguments are read the way getopt_long(3) reads them: `--name value` and `--name=value`, letters in a bundle (`-qo
// FILE`, `-oFILE`), a unique beginning for the whole name, operands anywhere, and `--` before operands that look like
// options. The function itself is not used: its state is in global variables, so two tests could not scan at once.

internal import ImgdText

/// Reads a program's arguments into options and operands, in the order in which they were given.
package struct CommandLineScanner {
  /// The result of one step.
  package enum Item: Equatable {
    case option(String, value: String?)
    case operand(String)
  }

  private let options: [CommandLineOption]
  private var waiting: ArraySlice<String>
  private var bundle: Substring = ""
  private var onlyOperands = false

  /// Scans `arguments`, which do not include the program's own name.
  package init(_ arguments: some Sequence<String>, options: [CommandLineOption]) {
    self.options = options
    waiting = Array(arguments)[...]
  }

  /// The arguments not scanned yet: after a verb, the verb's own arguments.
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
      guard option.takesValue else { throw UsageProblem("--\(option.name) takes no value, but '\(value)' was given") }
      return .option(option.name, value: String(value))
    }
    return .option(option.name, value: try operandOf(option, shownAs: "--\(option.name)"))
  }

  private mutating func short(_ letter: Character) throws(UsageProblem) -> Item {
    guard let option = options.first(where: { $0.letter == letter }) else {
      throw UsageProblem("unknown option -\(letter): --help lists the options")
    }
    if option.takesValue, !bundle.isEmpty {
      let value = String(bundle)
      bundle = ""
      return .option(option.name, value: value)
    }
    return .option(option.name, value: try operandOf(option, shownAs: "-\(letter)"))
  }

  private mutating func operandOf(_ option: CommandLineOption, shownAs shown: String) throws(UsageProblem) -> String? {
    guard option.takesValue else { return nil }
    guard let value = waiting.popFirst() else { throw UsageProblem("\(shown) needs a value") }
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
      nearestName(to: name, among: options.map { $0.name }).map { "did you mean --\($0)?" }
      ?? "--help lists the options"
    throw UsageProblem("unknown option --\(name): \(hint)")
  }
}

/// One option that a program understands, as `--name`, `--name=VALUE` or `-n`.
package struct CommandLineOption: Sendable {
  package let name: String
  package let letter: Character?
  package let takesValue: Bool

  package init(_ name: String, letter: Character? = nil, takesValue: Bool = false) {
    self.name = name
    self.letter = letter
    self.takesValue = takesValue
  }
}

/// A mistake in a command line: one sentence about what is wrong and what would be right.
package struct UsageProblem: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ sentence: String) { description = sentence }
}
