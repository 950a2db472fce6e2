import ImgdSystem

/// Untrusted text in a form that is safe for a message: printable, short, and without passwords.
func shown(_ text: String) -> String {
  let words = text.split(separator: " ", omittingEmptySubsequences: false).map(withoutPassword)
  return printable(words.joined(separator: " "), longest: 80)
}

/// A word without user name and password, which the URL of a proxy may contain by mistake.
private func withoutPassword(_ word: Substring) -> String {
  guard let end = word.lastIndex(of: "@") else { return String(word) }
  return front(of: word[..<end]) + "…" + word[end...]
}

/// The part of a word that may be shown before a password: a URL's scheme, or the key of an assignment.
private func front(of word: Substring) -> Substring {
  if let slash = word.firstIndex(of: "/"), word[..<slash].hasSuffix(":"),
    word[slash...].hasPrefix("//")
  {
    return word[...word.index(after: slash)]
  }
  return word.firstIndex(of: "=").map { word[...$0] } ?? ""
}

/// Advice for an unknown word: the name that was probably meant, or otherwise all names.
func suggestion(for word: String, among names: [String]) -> String {
  if let nearest = nearestName(to: word, among: names) { return "did you mean \(nearest)?" }
  return "write \(alternatives(names))"
}
