/// `imgctl completion`: a script with which a shell completes command lines of imgctl.
struct Completion: Verb {
  static let description = VerbDescription(
    "completion", "print the completions for a shell",
    operands: .one("SHELL", .choice(Shell.allCases.map { $0.rawValue })),
    details: """
      The shell is bash, zsh or fish. The package installs these scripts; without it, write for example: source <(imgctl completion bash)
      """)

  /// The shells for which there is a script.
  enum Shell: String, CaseIterable { case bash, zsh, fish }

  private let shell: Shell

  init(_ arguments: Arguments) { shell = arguments.operands.first.flatMap(Shell.init) ?? .bash }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try context.print(shell.script)
    return .done
  }
}
