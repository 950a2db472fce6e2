import ImgdSystem
import ImgdText

/// A command of imgctl: its description, its arguments as values, and its work.
protocol Verb {
  static var description: VerbDescription { get }

  /// Reads the arguments; they are of the kinds that the description names.
  init(_ arguments: Arguments) throws(UsageProblem)

  func carryOut(in context: Context) throws(Failure) -> ExitCode
}

/// A command of any type: its description, and how its arguments become work.
struct KnownVerb {
  typealias Work = (Context) throws(Failure) -> ExitCode

  let description: VerbDescription
  let read: (Arguments) throws(UsageProblem) -> Work

  // Closures, since Embedded Swift has no `any Verb`.
  init<Command: Verb>(_ type: Command.Type) {
    description = Command.description
    read = { (arguments) throws(UsageProblem) in Self.work(of: try Command(arguments)) }
  }

  static func work(of verb: some Verb) -> Work { { (context) throws(Failure) in try verb.carryOut(in: context) } }
}

/// The commands, in the order in which help lists them.
enum Verbs {
  static var all: [KnownVerb] {
    [
      KnownVerb(Fetch.self),
      KnownVerb(Prefetch.self),
      KnownVerb(Cat.self),
      KnownVerb(Show.self),
      KnownVerb(Open.self),
      KnownVerb(Thumbnail.self),
      KnownVerb(Put.self),
      KnownVerb(Wait.self),
      KnownVerb(Cancel.self),
      KnownVerb(ListFetches.self),
      KnownVerb(Query.self),
      KnownVerb(Entries.self),
      KnownVerb(PurgePictures.self),
      KnownVerb(Stats.self),
      KnownVerb(Origins.self),
      KnownVerb(ListClients.self),
      KnownVerb(ListHosts.self),
      KnownVerb(Top.self),
      KnownVerb(Monitor.self),
      KnownVerb(Sheet.self),
      KnownVerb(ShowConfiguration.self),
      KnownVerb(Reload.self),
      KnownVerb(Doctor.self),
      KnownVerb(Ping.self),
      KnownVerb(Version.self),
      KnownVerb(Completion.self),
      KnownVerb(Help.self),
    ]
  }

  static var names: [String] { all.map { $0.description.name } }

  /// The command with a name; the error about an unknown name suggests one.
  static func named(_ word: String) throws(UsageProblem) -> KnownVerb {
    if let verb = all.first(where: { $0.description.name == word }) { return verb }
    let hint = nearestName(to: word, among: names).map { "did you mean \($0)?" } ?? "imgctl help lists the commands"
    throw UsageProblem("unknown command '\(printable(word))': \(hint)")
  }
}

/// How a command is written, and what help says about it.
struct VerbDescription: Sendable {
  let name: String
  /// The line about the command in the list of commands.
  let summary: String
  let operands: Operands
  let options: [VerbOption]
  /// Further sentences for the command's own help.
  let details: String

  init(_ name: String, _ summary: String, operands: Operands = .none, options: [VerbOption] = [], details: String = "")
  {
    self.name = name
    self.summary = summary
    self.operands = operands
    self.options = options
    self.details = details
  }

  /// The options that the command takes, in the scanner's form.
  var scanned: [CommandLineOption] { (options + Invocation.general).map { $0.scanned } }
}

/// What a word of a command line stands for, so that a shell can offer completions.
enum WordKind: Sendable {
  /// Something that nobody can guess.
  case text
  case file
  case choice([String])
  case command
  /// The beginning of a URL that is cached.
  case url
  /// The same, or a file.
  case picture
  /// A section of the daemon's configuration, or one of its keys.
  case setting
}

/// The operands of a command: a word that stands for them in help, and how many there may be.
struct Operands: Sendable {
  let word: String
  let count: ClosedRange<Int>
  let kind: WordKind

  static let none = Operands(word: "", count: 0...0, kind: .text)

  static func any(_ word: String, _ kind: WordKind = .text) -> Self { Self(word: word, count: 0...Int.max, kind: kind) }

  static func some(_ word: String, _ kind: WordKind = .text) -> Self {
    Self(word: word, count: 1...Int.max, kind: kind)
  }

  static func one(_ word: String, _ kind: WordKind = .text) -> Self { Self(word: word, count: 1...1, kind: kind) }

  static func optional(_ word: String, _ kind: WordKind = .text) -> Self { Self(word: word, count: 0...1, kind: kind) }

  var usage: String {
    switch (count.lowerBound, count.upperBound) {
    case (_, 0): ""
    case (0, 1): " [\(word)]"
    case (0, _): " [\(word)...]"
    case (_, 1), (2, 2): " \(word)"
    default: " \(word)..."
    }
  }
}

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

  /// The spellings of the option, such as `--output` and `-o`.
  var spellings: [String] { ["--" + name] + (letter.map { ["-\($0)"] } ?? []) }

  static let json = VerbOption("json", help: "print JSON lines instead of text")
}

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
    if case .text = self { return }
    guard !value.isEmpty else { throw UsageProblem("\(option) needs a value: \(word)") }
    switch self {
    case .text, .file: return
    case .choice(_, let choices): try checkChoice(value, of: option, among: choices)
    case .number(_, let range):
      if let number = Int(value), range.contains(number) { return }
      let remedy = "write a number from \(range.lowerBound) to \(range.upperBound)"
      throw UsageProblem("\(option) \(printable(value)) is not valid: \(remedy)")
    case .size:
      if let size = SizeText.bytes(value), size > 0 { return }
      throw UsageProblem("\(option) \(printable(value)) is not a size: write bytes or a number with K, M or G")
    case .duration:
      if DurationText.duration(value) != nil { return }
      throw UsageProblem("\(option) \(printable(value)) is not a duration: write seconds, or one such as 30s or 7d")
    }
  }
}

/// Refuses a word that is not among the choices; `subject` names the option or operand.
func checkChoice(_ word: String, of subject: String, among choices: [String]) throws(UsageProblem) {
  if choices.contains(word) { return }
  let near = nearestName(to: word, among: choices).map { "did you mean \($0)?" }
  throw UsageProblem("\(subject) \(printable(word)) is not valid: \(near ?? "write " + alternatives(choices))")
}
