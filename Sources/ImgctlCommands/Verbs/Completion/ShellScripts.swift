// Each script asks `imgctl __complete` what fits the words up to the cursor. The answer is lines: a word and, after a
// tab, what it means. An empty line stands for the names of files, which the shell completes itself.
//
// URLs of the cache were written by strangers. Zsh and fish quote what they put into a line; bash does not, so its
// script does.

extension Completion.Shell {
  /// A script for `source`, or for the directory from which the shell loads completions.
  var script: String {
    switch self {
    case .bash: Self.bashScript
    case .zsh: Self.zshScript
    case .fish: Self.fishScript
    }
  }

  // Bash has its own idea of words: it splits them at `:` and `=`, too, and completes the last piece, `$2`. An offer
  // has to begin like the whole word as it was typed, quotes included.
  private static let bashScript = #"""
    # Completions of imgctl for bash, as printed by: imgctl completion bash

    _imgctl() {
      local rest=${COMP_LINE:0:COMP_POINT} words=() gap word offer i
      COMPREPLY=()
      # Pieces without a blank between them are one word.
      for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${rest%%[![:space:]]*}
        rest=${rest#"$gap"}
        word=$rest
        if ((i < COMP_CWORD)); then word=${COMP_WORDS[i]}; fi
        rest=${rest#"$word"}
        if [[ $gap || $i == 0 ]]; then words+=("$word"); else words[-1]+=$word; fi
      done
      word=${words[-1]}
      words=("${words[@]//[\\\'\"]/}")
      while IFS=$'\t' read -r offer _; do
        if [[ ! $offer ]]; then
          compopt -o default
          return
        elif [[ $word != [\'\"]* ]]; then
          printf -v offer %q "$offer"
        elif [[ $offer != *[\'\"\\\$\`!]* ]]; then
          offer=${word:0:1}$offer
        else
          continue
        fi
        if [[ $offer == "$word"* ]]; then COMPREPLY+=("${offer#"${word%"$2"}"}"); fi
      done < <(command imgctl __complete "${words[@]:1}" 2>/dev/null)
    }

    complete -F _imgctl imgctl
    """#

  private static let zshScript = #"""
    #compdef imgctl
    # Completions of imgctl for zsh, as printed by: imgctl completion zsh

    _imgctl() {
      local name help
      local -a offers
      command imgctl __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null |
        while IFS=$'\t' read -r name help; do
          if [[ -z $name ]]; then
            compset -P 1 '--*='
            _files
            return
          fi
          # The name ends at the first colon without a backslash.
          offers+=("${${name//\\/\\\\}//:/\\:}${help:+:$help}")
        done
      _describe argument offers
    }

    # The shell may load this as the function itself, or read it as a script.
    if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
      _imgctl "$@"
    else
      compdef _imgctl imgctl
    fi
    """#

  private static let fishScript = #"""
    # Completions of imgctl for fish, as printed by: imgctl completion fish

    # Keeps what fits; false where the names of files do, which fish then offers itself.
    function __imgctl_offers
        set -l words (commandline -opc)[2..] (string unescape -- (commandline -ct))
        set -g __imgctl_offers (command imgctl __complete $words 2>/dev/null)
        not contains -- '' $__imgctl_offers
    end

    complete -c imgctl -n __imgctl_offers -f -a '$__imgctl_offers'
    """#
}
