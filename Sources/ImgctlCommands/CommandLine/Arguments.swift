import ImgdSystem

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
    try check(verb)
  }

  /// Whether an option was given.
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

  private func check(_ option: VerbOption, of verb: VerbDescription) throws(UsageProblem) {
    let given = texts(option.name)
    guard given.count <= 1 || option.repeats || option.value == nil else {
      throw UsageProblem("\(verb.name) takes one --\(option.name), and \(given.count) were given")
    }
    for value in given { try option.value?.check(value, of: "--\(option.name)") }
  }

  private func check(_ verb: VerbDescription) throws(UsageProblem) {
    let allowed = verb.operands
    if operands.count < allowed.count.lowerBound { throw UsageProblem("\(verb.name) needs \(article(allowed.word))") }
    if allowed.word == "URL", operands.contains("") {
      throw UsageProblem("\(verb.name) needs \(article(allowed.word)), and '' is none")
    }
    if case .choice(let choices) = allowed.kind {
      for operand in operands { try checkChoice(operand, of: verb.name, among: choices) }
    }
    guard operands.count > allowed.count.upperBound else { return }
    let surplus = printable(operands[allowed.count.upperBound])
    throw UsageProblem(
      allowed.count.upperBound == 0
        ? "\(verb.name) takes no arguments: leave out '\(surplus)'"
        : "\(verb.name) takes one \(allowed.word): leave out '\(surplus)'")
  }

  private func article(_ word: String) -> String {
    "a\(word.first.map { "AEIO".contains($0) } == true ? "n" : "") \(word)"
  }
}
