import ImgdSystem

extension UnfinishedLine {
  /// A word that a shell can put into the line, and what it means, for shells that show that.
  typealias Offer = (word: String, help: String)

  /// Prints a line for each word that fits, or an empty one for the names of files; nothing where nothing is known.
  func offer(in context: Context) throws(Failure) -> ExitCode {
    if case .word(.file, _) = place {
      try context.print("")
      return .done
    }
    // A word that a terminal would show as another one is not offered.
    let lines = offers(in: context).filter { offer in offer.word.hasPrefix(word) && printable(offer.word) == offer.word
    }.map { $0.help.isEmpty ? $0.word : $0.word + "\t" + printable($0.help) }
    if !lines.isEmpty { try context.print(lines.joined(separator: "\n")) }
    return .done
  }

  private func offers(in context: Context) -> [Offer] {
    switch place {
    case .option(let options): options.flatMap { option in option.spellings.map { ($0, option.help) } }
    case .word(let kind, let beginning):
      words(kind, String(word.dropFirst(beginning.count)), context).map { offer in (beginning + offer.word, offer.help)
      }
    }
  }

  private func words(_ kind: WordKind, _ word: String, _ context: Context) -> [Offer] {
    switch kind {
    case .text, .file: []
    case .choice(let choices): choices.map { ($0, "") }
    case .command: Verbs.all.map { ($0.description.name, $0.description.summary) }
    case .setting: (try? DaemonOffers(context).settings(word)) ?? []
    case .url: (try? DaemonOffers(context).urls(word)) ?? []
    }
  }
}
