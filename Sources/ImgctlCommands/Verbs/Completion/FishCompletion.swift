/// The completions for fish.
enum FishCompletion {
  /// A script for `source`, or for the directory from which fish loads completions.
  static func script(of verbs: [VerbDescription]) -> String {
    let taking = Invocation.general.filter { $0.value != nil }.flatMap { $0.spellings }
    return """
      # Completions of imgctl for fish, as printed by: imgctl completion fish

      # The command on the line: the first word that is no option and no value of one.
      function __imgctl_command
          set -l words (commandline -opc)
          set -e words[1]
          while set -q words[1]
              switch $words[1]
                  case \(taking.joined(separator: " "))
                      set -e words[1]
                  case '-*'
                  case '*'
                      echo $words[1]
                      return
              end
              set -e words[1]
          end
      end

      function __imgctl_is
          set -l command (__imgctl_command)
          test "$command" = "$argv"
      end

      complete -c imgctl -f
      \(Invocation.general.map { line(of: $0, when: nil) }.joined(separator: "\n"))
      \(verbs.map { offer($0, when: "") }.joined(separator: "\n"))
      \(verbs.flatMap { lines(of: $0, among: verbs) }.joined(separator: "\n"))
      """
  }

  /// The line that offers a command, after a certain command or none.
  private static func offer(_ verb: VerbDescription, when command: String) -> String {
    "complete -c imgctl -n '__imgctl_is \(command)' -a \(verb.name) -d \(quoted(verb.summary))"
  }

  private static func lines(
    of verb: VerbDescription, among verbs: [VerbDescription]
  ) -> [String] {
    let condition = "-n '__imgctl_is \(verb.name)'"
    let operands =
      switch verb.operands.kind {
      case .text: [String]()
      case .file: ["complete -c imgctl \(condition) -F"]
      case .choice(let choices):
        ["complete -c imgctl \(condition) -a '\(choices.joined(separator: " "))'"]
      case .command: verbs.map { offer($0, when: verb.name) }
      }
    return operands + verb.options.map { line(of: $0, when: condition) }
  }

  private static func line(of option: VerbOption, when condition: String?) -> String {
    var words = ["complete -c imgctl"]
    if let condition { words.append(condition) }
    if let letter = option.letter { words.append("-s \(letter)") }
    words.append("-l \(option.name)")
    switch option.value {
    case nil: break
    case .choice(_, let choices): words.append("-x -a '\(choices.joined(separator: " "))'")
    case .file: words.append("-r -F")
    case .text, .number, .size, .duration: words.append("-x")
    }
    words.append("-d \(quoted(option.help))")
    return words.joined(separator: " ")
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.map { "'\\".contains($0) ? "\\\($0)" : String($0) }.joined() + "'"
  }
}
