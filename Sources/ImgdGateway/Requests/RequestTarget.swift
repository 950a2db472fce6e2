/// The target of a request as it was sent, cut at its first question mark.
package struct RequestTarget {
  package let path: Substring
  /// The text after the question mark; nil without one.
  package let query: Substring?

  package init(_ raw: String) { (path, query) = raw[...].cut(at: UInt8(ascii: "?")) }
}

extension Substring {
  /// The text before the first `byte`, which is ASCII, and the text after it, which is nil if there is no such byte.
  func cut(at byte: UInt8) -> (head: Substring, rest: Substring?) {
    guard let place = utf8.firstIndex(of: byte) else { return (self, nil) }
    return (self[..<place], self[utf8.index(after: place)...])
  }
}
