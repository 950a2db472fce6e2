// Bash splits a line into words at `=` and `:`, too: `--cache=reload` is three words, and a URL is several. The script
// passes over such pieces.

/// The completions for bash.
enum BashCompletion {
  /// A script for `source`, or for the directory from which bash loads completions.
  static func script(of verbs: [VerbDescription]) -> String {
    """
    # Completions of imgctl for bash, as printed by: imgctl completion bash

    # Sets the options of a command, and those of them that take a value.
    _imgctl_command() {
      options='\(spellings(Invocation.general, where: { _ in true }))'
      taking='\(spellings(Invocation.general, where: { $0.value != nil }))'
      case $1 in
    \(lines(verbs, optionCase))
      esac
    }

    # Offers the values of an option of a command.
    _imgctl_value() {
      case $1:$2 in
    \(lines(Invocation.general.compactMap { valueCase($0, of: "*") }) { $0 })
    \(lines(verbs.flatMap { verb in verb.options.compactMap { valueCase($0, of: verb.name) } }) { $0 })
      esac
    }

    # Offers the operands of a command; without a command, the commands.
    _imgctl_operand() {
      case $1 in
        '') _imgctl_words '\(verbs.map { $0.name }.joined(separator: " "))' ;;
    \(lines(verbs.compactMap { operandCase($0, among: verbs) }) { $0 })
      esac
    }

    _imgctl_words() {
      COMPREPLY=($(compgen -W "$1" -- "$current"))
    }

    _imgctl_files() {
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    }

    _imgctl() {
      local current=${COMP_WORDS[COMP_CWORD]} command='' pending='' operands='' options taking word i j
      COMPREPLY=()
      _imgctl_command ''
      for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = || $word == :* || ${COMP_WORDS[i - 1]} == :* ]]; then
          continue
        elif [[ $pending ]]; then
          pending=''
        elif [[ ! $operands && $word == -- ]]; then
          operands=yes
        elif [[ ! $operands && $word == --* ]]; then
          [[ " $taking " == *" $word "* ]] && pending=$word
        elif [[ ! $operands && $word == -?* ]]; then
          # In a bundle, what follows a letter that takes a value is the value.
          for ((j = 1; j < ${#word}; j++)); do
            [[ " $taking " == *" -${word:j:1} "* ]] || continue
            ((j == ${#word} - 1)) && pending=-${word:j:1}
            break
          done
        elif [[ ! $command ]]; then
          command=$word
          _imgctl_command "$command"
          operands=''
        fi
      done
      [[ $current == = ]] && current=''
      if [[ $pending ]]; then
        _imgctl_value "$command" "$pending"
      elif [[ ! $operands && $current == -* ]]; then
        _imgctl_words "$options"
      else
        _imgctl_operand "$command"
      fi
    }

    complete -F _imgctl imgctl
    """
  }

  private static func lines<Item>(_ items: [Item], _ line: (Item) -> String) -> String {
    items.map { "    " + line($0) }.joined(separator: "\n")
  }

  private static func spellings(
    _ options: [VerbOption], where isWanted: (VerbOption) -> Bool
  ) -> String {
    options.filter(isWanted).flatMap { $0.spellings }.joined(separator: " ")
  }

  private static func optionCase(_ verb: VerbDescription) -> String {
    let all = spellings(verb.options, where: { _ in true })
    let taking = spellings(verb.options, where: { $0.value != nil })
    return "\(verb.name)) options+=' \(all)' taking+=' \(taking)' ;;"
  }

  private static func valueCase(_ option: VerbOption, of verb: String) -> String? {
    let pattern = option.spellings.map { "\(verb):\($0)" }.joined(separator: "|")
    return switch option.value {
    case .choice(_, let choices):
      "\(pattern)) _imgctl_words '\(choices.joined(separator: " "))' ;;"
    case .file: "\(pattern)) _imgctl_files ;;"
    default: nil
    }
  }

  private static func operandCase(
    _ verb: VerbDescription, among verbs: [VerbDescription]
  ) -> String? {
    switch verb.operands.kind {
    case .text: nil
    case .file: "\(verb.name)) _imgctl_files ;;"
    case .choice(let choices):
      "\(verb.name)) _imgctl_words '\(choices.joined(separator: " "))' ;;"
    case .command:
      "\(verb.name)) _imgctl_words '\(verbs.map { $0.name }.joined(separator: " "))' ;;"
    }
  }
}
