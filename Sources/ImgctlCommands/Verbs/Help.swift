import ImgdSystem

/// `imgctl help`: lists the commands, or explains one.
struct Help: Verb {
  static let description = VerbDescription("help", "explain a command", operands: .optional("COMMAND", .command))

  private let subject: VerbDescription?

  init(about subject: VerbDescription?) { self.subject = subject }

  init(_ arguments: Arguments) throws(UsageProblem) {
    subject = try arguments.operands.first.map(Self.description(of:))
  }

  private static func description(of word: String) throws(UsageProblem) -> VerbDescription {
    try Verbs.named(word).description
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try context.print(HelpText.about(subject))
    return .done
  }
}
