internal import ImgdSystem
internal import ImgdText

/// Untrusted text in a form that is safe for a message: printable, short, and without passwords.
package func shown(_ text: String) -> String {
  let words = text.split(separator: " ", omittingEmptySubsequences: false).map(withoutPassword)
  return printable(words.joined(separator: " "), longest: 80)
}

/// A word without user name and password, which the URL of a proxy may contain by mistake; the key of an
/// assignment stays.
private func withoutPassword(_ word: Substring) -> String {
  guard let equals = word.firstIndex(of: "="), !word[..<equals].contains(":") else { return withoutUserInfo(word) }
  return word[...equals] + withoutUserInfo(word[equals...].dropFirst())
}

/// Advice for an unknown word: the name that was probably meant, or otherwise all names.
package func suggestion(for word: String, among names: [String]) -> String {
  if let nearest = nearestName(to: word, among: names) { return "did you mean \(nearest)?" }
  return "write \(alternatives(names))"
}
