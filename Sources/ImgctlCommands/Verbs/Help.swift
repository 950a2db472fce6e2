import ImgdSystem

/// `imgctl help`: lists the commands, or explains one.
struct Help: Verb {
  static let description = VerbDescription("help", "explain a command", operands: .optional("COMMAND", .command))

  /// The widest line.
  private static let width = 80

  private let subject: VerbDescription?

  init(about subject: VerbDescription?) { self.subject = subject }

  init(_ arguments: Arguments) throws(UsageProblem) {
    var subject: VerbDescription?
    if let word = arguments.operands.first { subject = try Verbs.named(word).description }
    self.subject = subject
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try context.print(subject.map(Self.page) ?? Self.overview)
    return .done
  }

  private static var overview: String {
    let verbs = Verbs.all.map { verb in (verb.description.name, verb.description.summary) }
    return """
      Usage: imgctl [OPTION]... COMMAND [ARGUMENT]...
      Fetches pictures through imgd, and manages its cache.

      Commands; imgctl help COMMAND explains one:
      \(table(verbs))

      Options of every command:
      \(options(Invocation.general))

      Exit codes:
      \(table(ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) }))
      """
  }

  private static func page(_ verb: VerbDescription) -> String {
    let usage = "Usage: imgctl \(verb.name)\(verb.operands.usage)\(verb.options.isEmpty ? "" : " [OPTION]...")"
    let summary = verb.summary.prefix(1).uppercased() + verb.summary.dropFirst() + "."
    var parts = [usage, wrapped(summary)] + verb.details.split(separator: "\n").map { wrapped(String($0)) }
    if !verb.options.isEmpty { parts += ["", options(verb.options)] }
    return parts.joined(separator: "\n")
  }

  private static func options(_ options: [VerbOption]) -> String {
    table(
      options.map { option in
        let letter = option.letter.map { "-\($0), " } ?? "    "
        let value = option.value.map { " " + $0.word } ?? ""
        return (letter + "--" + option.name + value, option.help + (option.repeats ? "; may be repeated" : ""))
      })
  }

  /// Two columns; text that needs more than one line continues below its beginning.
  private static func table(_ rows: [(String, String)]) -> String {
    let left = min(rows.map { $0.0.count }.max() ?? 0, 26)
    let margin = String(repeating: " ", count: left + 4)
    return rows.map { name, text in
      let lines = lines(of: text, width - left - 4)
      let first = name.count > left ? name + "\n" + margin : TextWidth.padded(name, to: left + 2)
      return "  " + first + lines.joined(separator: "\n" + margin)
    }.joined(separator: "\n")
  }

  private static func wrapped(_ text: String) -> String { lines(of: text, width).joined(separator: "\n") }

  private static func lines(of text: String, _ width: Int) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
      let line = lines[lines.count - 1]
      if line.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if line.count + 1 + word.count <= width {
        lines[lines.count - 1] = line + " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
