// A URL may be eight kilobytes long, and a text that nearly fits at each of its places: the search takes a step for each
// byte of the URL, and one back at most, whatever is sought (Knuth, Morris and Pratt).

/// A text that is sought anywhere in URLs, in which the case of letters does not matter.
package struct URLPart: Sendable {
  /// So many bytes are looked at in the time of one entry.
  static let bytesOfOneEntry = 256

  private let text: [UInt8]
  /// For each place, how much of the beginning of the text also ends there.
  private let borders: [Int]

  package init(_ part: String) {
    text = part.utf8.map(lowerCase)
    var borders = [0]
    for place in text.indices.dropFirst() {
      var length = borders[place - 1]
      while length > 0, text[length] != text[place] { length = borders[length - 1] }
      borders.append(text[length] == text[place] ? length + 1 : 0)
    }
    self.borders = borders
  }

  func isIn(_ url: Span<UInt8>) -> Bool {
    guard !text.isEmpty else { return true }
    var found = 0
    for index in url.indices {
      let byte = lowerCase(url[index])
      while found > 0, text[found] != byte { found = borders[found - 1] }
      if text[found] == byte { found += 1 }
      if found == text.count { return true }
    }
    return false
  }
}
