import ImgdSystem

/// A text of somebody else's as it may stand in a message of one line, which everybody may read.
func shown(_ text: String) -> String {
  let words = text.split(separator: " ", omittingEmptySubsequences: false).map(withoutPassword)
  return printable(words.joined(separator: " "), longest: 80)
}

/// A word without what stands for a user and a password: a proxy may be given with them by mistake.
private func withoutPassword(_ word: Substring) -> String {
  guard let end = word.lastIndex(of: "@") else { return String(word) }
  let rest = word[end...]
  for start in ["://", "="] {
    if let found = word[..<end].firstRange(of: start) {
      return word[..<found.upperBound] + "…" + rest
    }
  }
  return "…" + rest
}

/// What to write instead of an unknown word: the one that was probably meant, else all there are.
func suggestion(for word: String, among names: [String]) -> String {
  if let nearest = nearestName(to: word, among: names) { return "did you mean \(nearest)?" }
  return "there is \(alternatives(names))"
}
