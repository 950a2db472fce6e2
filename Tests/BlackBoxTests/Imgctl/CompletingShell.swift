import Glibc
import ImgdTestSupport

/// An interactive shell that has loaded the completions of the `imgctl` in its directory, and works there.
struct CompletingShell {
  enum Kind: String, CaseIterable {
    case bash, zsh, fish

    var isThere: Bool { access(path, X_OK) == 0 }

    fileprivate var path: String { "/usr/bin/" + rawValue }
  }

  private let terminal: PseudoTerminal

  /// With `loadsItself` zsh finds the script in its own way, as an installed one.
  init(_ kind: Kind, in directory: String, socket: String, loadsItself: Bool = false) throws {
    let start = directory + "/.zshrc"
    try write(Self.startFile(of: kind, in: directory, loadsItself), to: start)
    let arguments =
      switch kind {
      case .bash: ["--noprofile", "--rcfile", start, "-i"]
      case .zsh: ["-d", "-i"]
      case .fish: ["--no-config", "-i", "-C", "source " + start]
      }
    terminal = try PseudoTerminal(
      environment: Self.environment(directory, socket), command: [kind.path] + arguments)
    try terminal.waitFor("ready> ")
  }

  static func environment(_ directory: String, _ socket: String) -> [String] {
    [
      "PATH=\(directory):/usr/bin:/bin", "HOME=\(directory)", "ZDOTDIR=\(directory)", "TERM=dumb",
      "LC_ALL=C.UTF-8", "IMGD_SOCKET=\(socket)",
    ]
  }

  private static func startFile(
    of kind: Kind, in directory: String, _ loadsItself: Bool
  ) -> String {
    switch kind {
    case .bash:
      """
      PS1='ready> '
      cd \(directory)
      source <(imgctl completion bash)
      bind 'set bell-style none'
      bind 'set show-all-if-ambiguous on'
      bind -x '"\\C-x": printf "[[[%s]]]" "$READLINE_LINE"'
      """
    case .zsh:
      """
      PS1='ready> '
      cd \(directory)
      unsetopt beep prompt_cr prompt_sp
      fpath=(\(directory) $fpath)
      autoload -Uz compinit
      compinit -u -d \(directory)/dump
      \(loadsItself ? "" : "source <(imgctl completion zsh)")
      show-line() { print -rn -- "[[[$BUFFER]]]" }
      zle -N show-line
      bindkey -e
      bindkey '^X' show-line
      """
    case .fish:
      """
      function fish_prompt; printf 'ready> '; end
      function fish_greeting; end
      function fish_title; end
      set -g fish_autosuggestion_enabled 0
      cd \(directory)
      source (imgctl completion fish | psub)
      """
    }
  }

  /// The line that TAB makes of a text, where control-X shows it.
  func completed(_ text: String) throws -> String {
    terminal.type(text + "\t\u{18}")
    try terminal.waitFor("[[[")
    defer { terminal.type("\u{15}") }
    return String(try terminal.waitFor("]]]").dropLast(3))
  }

  /// Has the shell carry out what TAB makes of a text.
  func execute(_ text: String) throws {
    terminal.type(text + "\t\n")
    // The shell shows what is typed, in which the word has a gap.
    terminal.type("echo do''ne\n")
    try terminal.waitFor("done")
  }
}
