/// Joins words as alternatives: `a, b or c`.
package func alternatives(_ words: [String]) -> String {
  guard let last = words.last, words.count > 1 else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}

/// The name most similar to a mistyped word; nil when none is similar. Similar means at most a third of the word's
/// letters changed, added, dropped or swapped; case is ignored.
package func nearestName(to word: String, among names: [String]) -> String? {
  // A much longer word is no typing mistake, and the comparison costs the square of its length.
  guard word.utf8.count <= 64 else { return nil }
  let wanted = Array(word.lowercased())
  var best: (name: String, distance: Int)?
  for name in names {
    let distance = editDistance(wanted, Array(name.lowercased()))
    if distance < best?.distance ?? .max { best = (name, distance) }
  }
  guard let best, best.distance <= max(1, wanted.count / 3) else { return nil }
  return best.name
}

private func editDistance(_ left: [Character], _ right: [Character]) -> Int {
  var before: [Int] = []
  var row = Array(0...right.count)
  for (i, letter) in left.enumerated() {
    var next = [i + 1]
    for (j, other) in right.enumerated() {
      var cost = min(row[j + 1] + 1, next[j] + 1, row[j] + (letter == other ? 0 : 1))
      if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other { cost = min(cost, before[j - 1] + 1) }
      next.append(cost)
    }
    before = row
    row = next
  }
  return row[right.count]
}

/// A text without the user name and the password of a URL in it, for messages and logs: `http://…@host`. A password
/// may hold any character, and a mistyped URL may have no scheme: so everything before the last `@` is left out,
/// except a scheme in front. It is better to show too little than part of a password.
package func withoutUserInfo(_ text: Substring) -> String {
  guard let end = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return String(text) }
  return scheme(of: text[..<end]) + "…" + text[end...]
}

/// A whole text without the user name and the password of a URL in it.
package func withoutUserInfo(_ text: String) -> String { withoutUserInfo(text[...]) }

/// The beginning of a text up to the `//` of its first URL; empty when it has none.
private func scheme(of text: Substring) -> Substring {
  guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")), text.utf8[..<slash].last == UInt8(ascii: ":"),
    text.utf8[slash...].starts(with: "//".utf8)
  else { return "" }
  return text[...text.utf8.index(after: slash)]
}
