/// A text of somebody else's as it may be shown: without characters that command a terminal, and
/// cut where it gets long.
package func printable(_ text: String, longest: Int = .max) -> String {
  let scalars = text.unicodeScalars
  var shown = ""
  for scalar in scalars.prefix(longest) {
    let commands = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
    shown.unicodeScalars.append(commands ? "?" : scalar)
  }
  return scalars.dropFirst(longest).isEmpty ? shown : shown + "…"
}

/// `a, b or c`.
package func alternatives(_ words: [String]) -> String {
  guard let last = words.last, words.count > 1 else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}
