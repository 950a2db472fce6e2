import ImgdSystem

/// A text of somebody else's as it may stand in a message of one line.
func shown(_ text: String) -> String {
  printable(text, longest: 80)
}

/// What to write instead of an unknown word: the one that was probably meant, else all there are.
func suggestion(for word: String, among names: [String]) -> String {
  if let nearest = nearestName(to: word, among: names) { return "did you mean \(nearest)?" }
  return "there is \(alternatives(names))"
}
