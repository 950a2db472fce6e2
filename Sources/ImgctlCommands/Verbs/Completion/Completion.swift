import ImgdSystem

/// `imgctl completion`: a script that makes a shell complete the commands and options of imgctl.
struct Completion: Verb {
  static let description = VerbDescription(
    "completion", "print the completions for a shell",
    operands: .one("SHELL", .choice(Shell.allCases.map { $0.rawValue })),
    details: """
      The shell is bash, zsh or fish. The package installs these scripts; without it, write for example: source <(imgctl completion bash)
      """)

  /// The shells for which there is a script.
  enum Shell: String, CaseIterable {
    case bash, zsh, fish
  }

  private let shell: Shell

  init(_ arguments: Arguments) {
    shell = arguments.operands.first.flatMap(Shell.init) ?? .bash
  }

  func run(in context: Context) throws(Failure) -> ExitCode {
    let verbs = Verbs.all.map { $0.description }
    let script =
      switch shell {
      case .bash: BashCompletion.script(of: verbs)
      case .zsh: ZshCompletion.script(of: verbs)
      case .fish: FishCompletion.script(of: verbs)
      }
    try context.print(script)
    return .done
  }
}

extension VerbOption {
  /// The spellings of the option, such as `--output` and `-o`.
  var spellings: [String] {
    ["--" + name] + (letter.map { ["-\($0)"] } ?? [])
  }
}
