import ImgdSystem

/// A text of somebody else's as it may stand in a message of one line, which everybody may read.
func shown(_ text: String) -> String {
  let words = text.split(separator: " ", omittingEmptySubsequences: false).map(withoutPassword)
  return printable(words.joined(separator: " "), longest: 80)
}

/// A word without what stands for a user and a password: a proxy may be given with them by mistake.
private func withoutPassword(_ word: Substring) -> String {
  guard let end = word.lastIndex(of: "@") else { return String(word) }
  return front(of: word[..<end]) + "…" + word[end...]
}

/// The scheme of a URL with its slashes, or the key of an assignment.
private func front(of word: Substring) -> Substring {
  if let slash = word.firstIndex(of: "/"), word[..<slash].hasSuffix(":"),
    word[slash...].hasPrefix("//")
  {
    return word[...word.index(after: slash)]
  }
  return word.firstIndex(of: "=").map { word[...$0] } ?? ""
}

/// What to write instead of an unknown word: the one that was probably meant, else all there are.
func suggestion(for word: String, among names: [String]) -> String {
  if let nearest = nearestName(to: word, among: names) { return "did you mean \(nearest)?" }
  return "there is \(alternatives(names))"
}
