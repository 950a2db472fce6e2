import ImgdSystem

/// A command line that is still being typed, up to the cursor: what the last of its words may become.
struct UnfinishedLine {
  /// The command by which a shell's script asks: `imgctl __complete WORD...`. Help does not list it.
  static let command = "__complete"

  /// What a word stands for.
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
    let line = try LineBeginning(words.dropLast() + ["--"])
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
      guard parts.count == 2 else { return .option(options.filter { $0.mayFollow(items) }) }
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
}

extension VerbOption {
  /// The spellings of the option, such as `--output` and `-o`.
  var spellings: [String] { ["--" + name] + (letter.map { ["-\($0)"] } ?? []) }

  fileprivate func mayFollow(_ items: [CommandLineScanner.Item]) -> Bool {
    repeats || !items.contains { if case .option(name, _) = $0 { true } else { false } }
  }
}
