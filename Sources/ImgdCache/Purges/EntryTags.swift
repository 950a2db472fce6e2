// The tags of an entry, which come from the fetches that it was downloaded for or shown to, and from its origin.
//
// A group (`Cache-Groups`, RFC 9875) belongs to its origin alone: another origin may use the same name for something else.
// It is kept among the tags, with a NUL before its name, which no tag has that a request or a header field brings. Only
// a purge that names a host as well is about groups.
//
// A claim (`EntryClaims`) is kept among them too, with two NULs before it. No purge is about it, and it is counted by
// itself.

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
      if isClaim(tag) {
        all.append(EntryClaims.areFull(all) ? EntryClaims.overflow : tag)
      } else if all.count(where: { !isClaim($0) }) < most {
        all.append(tag)
      } else {
        all = [every] + all.filter(isClaim)
      }
    }
    return all
  }

  /// Whether an entry's tags have this one, or, where groups count, this group.
  static func meets(_ tag: String, orGroup: Bool = false, _ tags: [String]) -> Bool {
    if isClaim(tag) { return EntryClaims.have(tag, tags) }
    return tags.contains { own in
      own.isEmpty || sameBytes(own, tag) || orGroup && isGroup(own) && name(of: own).elementsEqual(tag.utf8)
    }
  }

  /// Whether an entry has all of these.
  package static func meetAll(_ tags: [String], _ own: [String]) -> Bool { tags.allSatisfy { meets($0, own) } }

  /// Whether there were so many tags that they now stand for every tag.
  package static func areAll(_ tags: [String]) -> Bool { tags.first?.isEmpty == true }

  // MARK: Groups

  private static func isGroup(_ tag: String) -> Bool { tag.utf8.first == mark && !isClaim(tag) }

  /// The bytes by which a purge names a tag or a group.
  static func name(of tag: String) -> Substring.UTF8View { tag.utf8.dropFirst(isGroup(tag) ? 1 : 0) }

  /// The names of the groups among some tags.
  package static func groups(_ tags: [String]) -> [String] {
    tags.filter(isGroup).map { String(decoding: name(of: $0), as: UTF8.self) }
  }

  /// The tags of which answers tell by their names.
  package static func shown(_ tags: [String]) -> [String] {
    tags.filter { !$0.isEmpty && $0.utf8.first != mark }
  }

  /// The tags that are no groups.
  package static func withoutGroups(_ tags: [String]) -> [String] { tags.filter { !isGroup($0) } }

  // MARK: Claims

  fileprivate static func isClaim(_ tag: String) -> Bool { tag.utf8.starts(with: EntryClaims.overflow.utf8) }

  /// The tags without claims, as other hosts may have them.
  static func withoutClaims(_ tags: [String]) -> [String] { tags.filter { !isClaim($0) } }
}

/// Who has asked for an entry: its owner, who came first, and further users as tags of their own.
package struct EntryClaims {
  /// So many further users are known by name.
  static let mostFurther = 7
  /// Says that there are more, of whom nobody knows the names.
  static let overflow = "\0\0"

  package var owner: UInt32?
  package var tags: [String]

  package init(owner: UInt32?, tags: [String]) {
    self.owner = owner
    self.tags = tags
  }

  /// The claim of a user who is not the owner, as it is kept among the tags.
  package static func tag(of uid: UInt32) -> String { overflow + String(uid) }

  /// The tags without the claim of the owner, who needs none.
  static func tags(_ tags: [String], of owner: UInt32?) -> [String] {
    guard let owner, !tags.isEmpty else { return tags }
    let own = tag(of: owner)
    return tags.filter { $0 != own }
  }

  /// Whether a claim is there, or adding it would change nothing.
  static func have(_ tag: String, _ tags: [String]) -> Bool {
    tags.contains { sameBytes($0, tag) } || tags.contains(overflow) && areFull(tags)
  }

  static func areFull(_ tags: [String]) -> Bool {
    tags.count >= mostFurther && tags.count { user($0) != nil } >= mostFurther
  }

  /// Whether a user is among those who are known by name.
  package func include(_ uid: UInt32) -> Bool { owner == uid || tags.contains(Self.tag(of: uid)) }

  /// All claims as they would be kept among the tags.
  var all: [String] { (owner.map { [Self.tag(of: $0)] } ?? []) + tags.filter(EntryTags.isClaim) }

  /// The users who are known by name.
  package var users: [UInt32] { (owner.map { [$0] } ?? []) + tags.compactMap(Self.user) }

  private static func user(_ tag: String) -> UInt32? {
    EntryTags.isClaim(tag) ? UInt32(String(decoding: tag.utf8.dropFirst(2), as: UTF8.self)) : nil
  }

  /// What is left without a user's claim: the next one becomes the owner. Nil if nobody is left. Where only such are left
  /// of whom nobody knows the names, the entry is root's, who sees everything.
  package func without(_ uid: UInt32) -> EntryClaims? {
    var left = self
    left.tags.removeAll { sameBytes($0, Self.tag(of: uid)) }
    guard owner == nil || owner == uid else { return left }
    left.owner = nil
    guard let heir = left.tags.first(where: { Self.user($0) != nil }) else {
      guard left.tags.contains(Self.overflow) else { return nil }
      left.owner = 0
      return left
    }
    left.owner = Self.user(heir)
    left.tags.removeAll { sameBytes($0, heir) }
    return left
  }
}
