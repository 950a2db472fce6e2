/// The tags of an entry: those of all fetches that it was downloaded for.
///
/// They are bounded, as anybody may add some to anybody's picture. An entry with more counts as one that
/// has every tag: a purge must not miss it.
package enum EntryTags {
  package static let most = 64
  /// Stands for every tag; no client can write an empty one.
  static let every = ""

  /// Both together, each once.
  package static func union(_ tags: [String], _ more: [String]) -> [String] {
    var all = tags
    for tag in more where !contains(tag, all) {
      guard all.count < most else { return [every] }
      all.append(tag)
    }
    return all
  }

  /// Whether a purge of a tag is about an entry with these.
  static func contains(_ tag: String, _ tags: [String]) -> Bool {
    tags.contains { sameBytes($0, tag) || $0.isEmpty }
  }

  /// Whether these are so many that they stand for every one.
  package static func areAll(_ tags: [String]) -> Bool { tags.first?.isEmpty == true }
}
