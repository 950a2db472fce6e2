// The tags of an entry, which come from the fetches that it was downloaded for or shown to, and from its origin.
//
// A group (`Cache-Groups`, RFC 9875) belongs to its origin alone: another origin may use the same name for something else.
// It is kept among the tags, with a NUL before its name, which no tag has that a request or a header field brings. Only
// a purge that names a host as well is about groups.

/// Their number is bounded, since anybody may add tags to anybody's picture. An entry with more counts as one
/// that has every tag: a purge must not miss it.
package enum EntryTags {
  package static let most = 64
  /// Stands for every tag; no client can write an empty one.
  static let every = ""
  private static let mark: UInt8 = 0

  /// A group as it is kept among the tags.
  package static func tag(ofGroup name: String) -> String { "\0" + name }

  /// The tags of both lists, each once.
  package static func union(_ tags: [String], _ more: [String]) -> [String] {
    var all = tags
    for tag in more where !meets(tag, all) {
      guard all.count < most else { return [every] }
      all.append(tag)
    }
    return all
  }

  /// Whether an entry's tags have this one, or, where groups count, this group.
  static func meets(_ tag: String, orGroup: Bool = false, _ tags: [String]) -> Bool {
    tags.contains { own in
      own.isEmpty || sameBytes(own, tag) || orGroup && isGroup(own) && name(of: own).elementsEqual(tag.utf8)
    }
  }

  /// Whether an entry has all of these.
  package static func meetAll(_ tags: [String], _ own: [String]) -> Bool { tags.allSatisfy { meets($0, own) } }

  /// Whether there were so many tags that they now stand for every tag.
  package static func areAll(_ tags: [String]) -> Bool { tags.first?.isEmpty == true }

  // MARK: Groups

  private static func isGroup(_ tag: String) -> Bool { tag.utf8.first == mark }

  /// The bytes by which a purge names a tag or a group.
  static func name(of tag: String) -> Substring.UTF8View { tag.utf8.dropFirst(isGroup(tag) ? 1 : 0) }

  /// The names of the groups among some tags.
  package static func groups(_ tags: [String]) -> [String] {
    tags.filter(isGroup).map { String(decoding: name(of: $0), as: UTF8.self) }
  }

  /// The tags that are no groups.
  package static func withoutGroups(_ tags: [String]) -> [String] { tags.filter { !isGroup($0) } }
}
