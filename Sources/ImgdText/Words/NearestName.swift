/// The name most similar to a mistyped word; nil when none is similar.
///
/// Similar means at most a third of the word's letters changed, added, dropped or swapped; case is
/// ignored.
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

/// Changes, additions, removals and swaps of neighbours that turn one word into the other.
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
