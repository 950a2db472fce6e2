import ImgdConnection
import ImgdSystem
import ImgdWire

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

/// A command line that is still being typed, up to the cursor: what the last of its words may become.
struct UnfinishedLine {
  /// The command by which a shell's script asks: `imgctl __complete WORD...`. Help does not list it.
  static let command = "__complete"

  enum Place {
    case option([VerbOption])
    /// A word of this kind, after a beginning that stays, such as `--cache=`.
    case word(WordKind, after: String)
  }

  /// The word at the cursor, as far as it is typed.
  let word: String
  let place: Place
  /// How the daemon is reached.
  let manner: Manner

  init(_ words: ArraySlice<String>) throws(UsageProblem) {
    word = words.last ?? ""
    // Two hyphens in place of the word show what it is: they can become a value or an operand, but not an option.
    let line = try LineBeginning.of(words.dropLast() + ["--"])
    let items = try line.items
    manner = try Manner(items.filter { if case .option("socket", _) = $0 { true } else { false } })
    place = Self.place(of: word, in: line.verb?.description, after: items)
  }

  private static func place(of word: String, in verb: VerbDescription?, after items: [CommandLineScanner.Item]) -> Place
  {
    let options = (verb?.options ?? []) + Invocation.general
    switch items.last {
    case .option(let name, value: "--"): return .word(kind(of: name, options), after: "")
    case .operand("--"): break
    case _ where word.hasPrefix("-"):
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return .option(options.filter { mayFollow($0, items) }) }
      return .word(kind(of: String(parts[0].dropFirst(2)), options), after: parts[0] + "=")
    default: break
    }
    guard let operands = verb?.operands else { return .word(.command, after: "") }
    let given = items.count { if case .operand(let word) = $0 { word != "--" } else { false } }
    return .word(given < operands.count.upperBound ? operands.kind : .text, after: "")
  }

  private static func kind(of option: String, _ options: [VerbOption]) -> WordKind {
    options.first { $0.name == option }?.value?.kind ?? .text
  }

  private static func mayFollow(_ option: VerbOption, _ items: [CommandLineScanner.Item]) -> Bool {
    option.repeats || !items.contains { if case .option(option.name, _) = $0 { true } else { false } }
  }

  /// A word that a shell can put into the line, and what it means, for shells that show that.
  typealias Offer = (word: String, help: String)

  /// Prints a line for each word that fits, or an empty one for the names of files; nothing where nothing is known.
  func offer(in context: Context) throws(Failure) -> ExitCode {
    var mayBeFile = false
    if case .word(.file, _) = place { mayBeFile = true }
    if case .word(.picture, _) = place { mayBeFile = LocalFile.looksLikePath(word) }
    if mayBeFile {
      try context.print("")
      return .done
    }
    // A word that a terminal would show as another one is not offered.
    let fitting = offers(in: context).filter { $0.word.hasPrefix(word) && printable($0.word) == $0.word }
    let lines = fitting.map { $0.help.isEmpty ? $0.word : $0.word + "\t" + printable($0.help) }
    if case .word(.picture, _) = place, lines.isEmpty, !word.utf8.contains(UInt8(ascii: ":")) {
      try context.print("")
    }
    if !lines.isEmpty { try context.print(lines.joined(separator: "\n")) }
    return .done
  }

  private func offers(in context: Context) -> [Offer] {
    switch place {
    case .option(let options): options.flatMap { option in option.spellings.map { ($0, option.help) } }
    case .word(let kind, let beginning):
      words(kind, String(word.dropFirst(beginning.count)), context).map { (beginning + $0.word, $0.help) }
    }
  }

  private func words(_ kind: WordKind, _ word: String, _ context: Context) -> [Offer] {
    switch kind {
    case .text, .file: []
    case .choice(let choices): choices.map { ($0, "") }
    case .command: Verbs.all.map { ($0.description.name, $0.description.summary) }
    case .setting: (try? DaemonOffers(context).settings(word)) ?? []
    case .url, .picture: (try? DaemonOffers(context).urls(word)) ?? []
    }
  }
}

/// What the daemon has to offer for a word. A person waits for it with a finger on the key: it is given a moment only,
/// and never looks through all of a large cache.
struct DaemonOffers {
  /// The time for all questions together.
  private static let patience = Duration.seconds(1)
  /// How many URLs shells show without asking first.
  private static let mostURLs = 100
  /// The most entries of a tier that the daemon may look at.
  private static let mostExamined = 10_000

  private let context: Context
  private let connection: ControlConnection
  private let deadline = Instant.current + patience

  init(_ context: Context) throws(Failure) {
    self.context = context
    connection = try context.connect(mayWait: false)
  }

  /// The sections of the configuration, and the keys of a section once it is the only one that fits.
  func settings(_ word: String) throws(Failure) -> [UnfinishedLine.Offer] {
    guard let sections = try ask(.config).object("config") else { return [] }
    let fitting = sections.fields.filter { ($0 + ".").hasPrefix(word) || word.hasPrefix($0 + ".") }
    var offers: [UnfinishedLine.Offer] = fitting.map { (word: $0, help: "") }
    if fitting.count == 1, let section = sections.object(fitting[0]) {
      offers += section.fields.map { (word: "\(fitting[0]).\($0)", help: section.text($0) ?? "") }
    }
    return offers
  }

  /// URLs of the cache that begin with a word: those in memory, unless there are too many, and those stored last.
  func urls(_ word: String) throws(Failure) -> [UnfinishedLine.Offer] {
    var entries: [Reply] = []
    let memory = try ask(.stats).object("memory")
    if memory?.number("entries") ?? 0 <= Self.mostExamined {
      entries = try self.entries(.memory, prefix: word, atMost: Self.mostURLs)
    }
    // While the disk is still being read after a start, the URLs in memory are offered all the same.
    if entries.count < Self.mostURLs { entries += (try? newest(word)) ?? [] }
    var known: Set<String> = []
    let urls = entries.compactMap { $0.text("url") }.filter { known.insert($0).inserted }
    return urls.prefix(Self.mostURLs).map { ($0, "") }
  }

  /// Entries on disk that begin with a word, among those stored last. Entries are numbered as they are stored, and any
  /// number can be a cursor, so the end of the list is found by halving.
  private func newest(_ word: String) throws(Failure) -> [Reply] {
    var (low, high) = (0, Int(UInt32.max))
    while high - low > Self.mostExamined / 2 {
      let middle = low + (high - low) / 2
      if try entries(.disk, after: middle, atMost: 1).isEmpty { high = middle } else { low = middle }
    }
    let start = max(high - Self.mostExamined, 0)
    return try entries(.disk, prefix: word, after: start, atMost: Self.mostURLs)
  }

  private func entries(_ tier: Tier, prefix: String = "", after cursor: Int? = nil, atMost limit: Int) throws(Failure)
    -> [Reply]
  {
    let page = PageRequest(limit: limit, cursor: cursor.map { String($0) })
    let request = EntriesRequest(tier: tier, prefix: prefix.isEmpty ? nil : prefix, page: page)
    return try ask(.entries(request)).objects("entries") ?? []
  }

  private func ask(_ request: Request) throws(Failure) -> Reply {
    try context.ask(request, over: connection, within: deadline - Instant.current).reply
  }
}
