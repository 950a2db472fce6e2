import ImgdSystem
import ImgdText

/// An option of a command: how it is written, and what help says about it. The parser, the help, the completions
/// and the test of the manual page all read this one description.
struct VerbOption: Sendable {
  let name: String
  let letter: Character?
  /// The kind of value that follows; nil if the option stands alone.
  let value: OptionValue?
  let repeats: Bool
  let help: String

  init(_ name: String, _ letter: Character? = nil, _ value: OptionValue? = nil, repeats: Bool = false, help: String) {
    self.name = name
    self.letter = letter
    self.value = value
    self.repeats = repeats
    self.help = help
  }

  /// The option in the scanner's form.
  var scanned: CommandLineOption { CommandLineOption(name, letter: letter, takesValue: value != nil) }

  static let json = VerbOption("json", help: "print JSON lines instead of text")
}

/// The kinds of values that options have.
enum OptionValue: Sendable {
  case text(String, WordKind = .text)
  case choice(String, [String])
  case number(String, ClosedRange<Int>)
  case size
  case duration
  case file(String)

  /// The word that stands for the value in help.
  var word: String {
    switch self {
    case .text(let word, _), .choice(let word, _), .number(let word, _), .file(let word): word
    case .size: "SIZE"
    case .duration: "DURATION"
    }
  }

  /// The kind of words that a shell offers for the value.
  var kind: WordKind {
    switch self {
    case .text(_, let kind): kind
    case .choice(_, let choices): .choice(choices)
    case .file: .file
    case .number, .size, .duration: .text
    }
  }

  /// Refuses a value that is not of this kind, in a sentence that says what would be right.
  func check(_ value: String, of option: String) throws(UsageProblem) {
    guard !value.isEmpty || isText else { throw UsageProblem("\(option) needs a value: \(word)") }
    switch self {
    case .text, .file: return
    case .choice(_, let choices): try checkChoice(value, of: option, among: choices)
    case .number(_, let range):
      if let number = Int(value), range.contains(number) { return }
      throw refusal(value, option, "write a number from \(range.lowerBound) to \(range.upperBound)")
    case .size:
      if let size = SizeText.bytes(value), size > 0 { return }
      throw UsageProblem("\(option) \(printable(value)) is not a size: write bytes or a number with K, M or G")
    case .duration:
      if DurationText.duration(value) != nil { return }
      throw UsageProblem("\(option) \(printable(value)) is not a duration: write seconds, or one such as 30s or 7d")
    }
  }

  private var isText: Bool { if case .text = self { true } else { false } }

  private func refusal(_ value: String, _ option: String, _ remedy: String) -> UsageProblem {
    UsageProblem("\(option) \(printable(value)) is not valid: \(remedy)")
  }
}

/// Refuses a word that is not among the choices; `subject` names the option or operand.
func checkChoice(_ word: String, of subject: String, among choices: [String]) throws(UsageProblem) {
  if choices.contains(word) { return }
  let near = nearestName(to: word, among: choices).map { "did you mean \($0)?" }
  throw UsageProblem("\(subject) \(printable(word)) is not valid: \(near ?? "write " + alternatives(choices))")
}
