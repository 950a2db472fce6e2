/// The tags of an entry, which come from all fetches that it was downloaded for.
///
/// Their number is bounded, since anybody may add tags to anybody's picture. An entry with more counts as one
/// that has every tag: a purge must not miss it.
package enum EntryTags {
  package static let most = 64
  /// Stands for every tag; no client can write an empty one.
  static let every = ""

  /// The tags of both lists, each once.
  package static func union(_ tags: [String], _ more: [String]) -> [String] {
    var all = tags
    for tag in more where !contains(tag, all) {
      guard all.count < most else { return [every] }
      all.append(tag)
    }
    return all
  }

  /// Whether a purge of a tag is about an entry with these tags.
  static func contains(_ tag: String, _ tags: [String]) -> Bool { tags.contains { sameBytes($0, tag) || $0.isEmpty } }

  /// Whether there were so many tags that they now stand for every tag.
  package static func areAll(_ tags: [String]) -> Bool { tags.first?.isEmpty == true }
}
