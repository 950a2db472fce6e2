import Glibc
import ImgdTestSupport
import Testing

/// The completions, loaded in the real shells.
@Suite struct CompletionTests {
  private static let program = BuiltProduct.path(of: "imgctl")
  private let directory = TemporaryDirectory()

  /// Beginnings of lines, and the lines that TAB makes of them.
  private static let lines = [
    ("imgctl pu", "imgctl purge "),
    ("imgctl purge --ti", "imgctl purge --tier"),
    ("imgctl fetch --cache rel", "imgctl fetch --cache reload "),
    ("imgctl fetch --cache=rel", "imgctl fetch --cache=reload "),
    ("imgctl --socket /x fe", "imgctl --socket /x fetch "),
    ("imgctl --color=al", "imgctl --color=always "),
    ("imgctl --color never hel", "imgctl --color never help "),
    ("imgctl help comp", "imgctl help completion "),
    ("imgctl completion z", "imgctl completion zsh "),
    ("imgctl fetch https://h/a --prio", "imgctl fetch https://h/a --priority"),
    ("imgctl fetch https://h/a --priority=hi", "imgctl fetch https://h/a --priority=high "),
    ("imgctl purge --tag fetch --ti", "imgctl purge --tag fetch --tier"),
    ("imgctl -qv pu", "imgctl -qv purge "),
    // Operands and values of which nothing is known, and what looks like an option and is none.
    ("imgctl fetch htt", "imgctl fetch htt"),
    ("imgctl fetch --tag pu", "imgctl fetch --tag pu"),
    ("imgctl fetch -- --ca", "imgctl fetch -- --ca"),
    ("imgctl purge --tier pu", "imgctl purge --tier pu"),
    ("imgctl nothing pu", "imgctl nothing pu"),
  ]

  private static let files = [
    ("imgctl fetch -o pict", "imgctl fetch -o pictures/"),
    ("imgctl fetch --output pict", "imgctl fetch --output pictures/"),
    ("imgctl --socket pict", "imgctl --socket pictures/"),
  ]

  init() throws {
    mkdir(directory.path + "/pictures", 0o700)
    // Found where the shells look for a program.
    try #require(symlink(Self.program, directory.path + "/imgctl") == 0)
  }

  private var environment: [String] {
    [
      "PATH=\(directory.path):/usr/bin:/bin", "HOME=\(directory.path)", "ZDOTDIR=\(directory.path)",
      "TERM=dumb", "LC_ALL=C.UTF-8",
    ]
  }

  /// Types the lines into an interactive shell, in which control-X shows the line; compares what TAB made of them.
  private func check(_ shell: PseudoTerminal) throws {
    try shell.waitFor("ready> ")
    shell.type("cd \(directory.path)\n")
    try shell.waitFor("ready> ")
    for (typed, completed) in Self.lines + Self.files {
      shell.type(typed + "\t\u{18}")
      try shell.waitFor("[[[")
      let line = try shell.waitFor("]]]").dropLast(3)
      // Some shells end an option that takes a value with a sign or a blank, and some do not.
      let endings = ["", "=", " "].map { completed + $0 }
      #expect(endings.contains(String(line)), "\(typed)")
      shell.type("\u{15}")
    }
  }

  @Test(.enabled(if: access("/bin/bash", X_OK) == 0))
  func `bash completes the commands, options and values`() throws {
    try write(
      """
      PS1='ready> '
      source <(imgctl completion bash)
      bind 'set bell-style none'
      bind 'set show-all-if-ambiguous on'
      bind -x '"\\C-x": printf "[[[%s]]]" "$READLINE_LINE"'
      """, to: directory.path + "/rc")
    try check(
      PseudoTerminal(
        environment: environment,
        command: ["/bin/bash", "--noprofile", "--rcfile", directory.path + "/rc", "-i"]))
  }

  @Test(.enabled(if: access("/usr/bin/zsh", X_OK) == 0), arguments: [true, false])
  func `zsh completes the commands, options and values`(loadsItself: Bool) throws {
    if loadsItself {
      let script = try ChildProcess.run(Self.program, ["completion", "zsh"])
      try write(script.output, to: directory.path + "/_imgctl")
    }
    try write(
      """
      PS1='ready> '
      unsetopt beep prompt_cr prompt_sp
      fpath=(\(directory.path) $fpath)
      autoload -Uz compinit
      compinit -u -d \(directory.path)/dump
      \(loadsItself ? "" : "source <(imgctl completion zsh)")
      show-line() { print -rn -- "[[[$BUFFER]]]" }
      zle -N show-line
      bindkey -e
      bindkey '^X' show-line
      """, to: directory.path + "/.zshrc")
    try check(
      PseudoTerminal(environment: environment, command: ["/usr/bin/zsh", "-d", "-i"]))
  }

  @Test(.enabled(if: access("/usr/bin/fish", X_OK) == 0))
  func `fish completes the commands, options and values`() throws {
    for (typed, completed) in Self.lines + Self.files {
      let script = """
        cd \(directory.path); source (imgctl completion fish | psub); complete -C '\(typed)'
        """
      let run = try ChildProcess.run(
        "/usr/bin/fish", ["--no-config", "-c", script], environment: environment)
      #expect(run.code == 0)
      let offers = run.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
      let beginning = typed.lastIndex(of: " ").map { typed[..<typed.index(after: $0)] } ?? ""
      let word = completed.dropFirst(beginning.count)
      if typed == completed {
        #expect(offers.isEmpty, "\(typed)")
      } else {
        #expect(offers == [word.last == " " ? word.dropLast() : word], "\(typed)")
      }
    }
  }
}
