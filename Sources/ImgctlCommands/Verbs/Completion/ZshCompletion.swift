/// The completions for zsh.
enum ZshCompletion {
  /// A script for `source`, or for a directory of `$fpath` under the name `_imgctl`.
  static func script(of verbs: [VerbDescription]) -> String {
    """
    #compdef imgctl
    # Completions of imgctl for zsh, as printed by: imgctl completion zsh

    _imgctl() {
      local curcontext=$curcontext state
      local -a line general commands
      general=(
    \(lines(Invocation.general.flatMap(specifications)))
      )
      commands=(
    \(lines(verbs.map { quoted(escaped($0.name) + ":" + escaped($0.summary)) }))
      )
      _arguments -s -S -C $general '1:command:->command' '*::argument:->argument'
      case $state in
        command) _describe command commands ;;
        argument)
          case $line[1] in
    \(verbs.map(verbCase).joined(separator: "\n"))
          esac
          ;;
      esac
    }

    # The shell may load this as the function itself, or read it as a script.
    if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
      _imgctl "$@"
    else
      compdef _imgctl imgctl
    fi
    """
  }

  private static func lines(_ items: [String]) -> String {
    items.map { "    " + $0 }.joined(separator: "\n")
  }

  private static func verbCase(_ verb: VerbDescription) -> String {
    let options = verb.options.flatMap(specifications)
    let words = ["_arguments -s -S $general"] + options + operands(verb.operands)
    let arguments = words.joined(separator: " \\\n          ")
    return "      \(verb.name))\n        \(arguments) ;;"
  }

  private static func operands(_ operands: Operands) -> [String] {
    guard operands.count.upperBound > 0 else { return [] }
    let place = operands.count.upperBound == 1 ? "1" : "*"
    let action =
      switch operands.kind {
      // Nothing, and no message either: beside a message the shell only lists the options that match.
      case .text: "{:}"
      case .file: "_files"
      case .choice(let choices): "(\(choices.joined(separator: " ")))"
      case .command: "{_describe command commands}"
      }
    return [quoted("\(place):\(escaped(operands.word)):\(action)")]
  }

  /// An argument of `_arguments` for each spelling; one spelling excludes the others unless the option repeats.
  private static func specifications(_ option: VerbOption) -> [String] {
    option.spellings.map { spelling in
      let prefix = option.repeats ? "*" : "(\(option.spellings.joined(separator: " ")))"
      guard let value = option.value else {
        return quoted("\(prefix)\(spelling)[\(escaped(option.help))]")
      }
      let glue = spelling.hasPrefix("--") ? "=" : "+"
      return quoted(
        "\(prefix)\(spelling)\(glue)[\(escaped(option.help))]:\(escaped(value.word)):\(action(value))"
      )
    }
  }

  private static func action(_ value: OptionValue) -> String {
    switch value {
    case .choice(_, let choices): "(\(choices.joined(separator: " ")))"
    case .file: "_files"
    case .text, .number, .size, .duration: " "
    }
  }

  /// Text in which `_arguments` and `_describe` see no sign of their own.
  private static func escaped(_ text: String) -> String {
    text.map { "[]:\\".contains($0) ? "\\\($0)" : String($0) }.joined()
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.map { $0 == "'" ? #"'\''"# : String($0) }.joined() + "'"
  }
}
