import ImgdSystem

/// A text of somebody else's as it may stand in a message: without control characters, and short.
func shown(_ text: String) -> String {
  let longest = 80
  let printable = String(
    text.unicodeScalars.prefix(longest).map { scalar in
      scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) ? "?" : Character(scalar)
    })
  return text.unicodeScalars.dropFirst(longest).isEmpty ? printable : printable + "…"
}

/// `a, b or c`.
func alternatives(_ words: [String]) -> String {
  guard let last = words.last, words.count > 1 else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}

/// What to write instead of an unknown word: the one that was probably meant, else all there are.
func suggestion(for word: String, among names: [String]) -> String {
  if let nearest = nearestName(to: word, among: names) { return "did you mean \(nearest)?" }
  return "there is \(alternatives(names))"
}
