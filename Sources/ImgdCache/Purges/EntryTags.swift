// The tags of an entry, which come from the fetches that it was downloaded for or shown to, and from its origin.
//
//   "news"        of its origin, or of a fetch where all users see the same
//   "news\0" 1000  of a user's fetch, where users have claims: only this user sees it, and purges by it
//   "news\0"      of a user of another host
//   "\0news"      a group (`Cache-Groups`, RFC 9875), which belongs to its origin alone: another origin may use the same
//                 name for something else, so only a purge that names a host as well is about groups
//   "\0\0" 1000   a claim (`EntryClaims`); no purge is about it
//   ""            there were more than fit
//
// No tag that a request or a header field brings has a NUL.

/// Their number is bounded, since anybody may add tags to anybody's picture. Who has as many as there may be counts as
/// having every tag after that: a purge must not miss the entry.
package enum EntryTags {
  /// Those of one user, and those of the origin and of fetches where all users see the same.
  package static let most = 64
  /// Those of all users together; the second half is for users who have few, whom a flood of others leaves room.
  static let (mostOfUsers, fewOfUser) = (256, 16)
  /// Stands for those that did not fit; no client can write an empty one.
  static let every = ""
  private static let mark: UInt8 = 0

  /// A group as it is kept among the tags.
  package static func tag(ofGroup name: String) -> String { "\0" + name }

  /// A user's tag as it is kept, and as that user purges by it.
  package static func tag(_ name: String, of uid: UInt32) -> String { name + "\0" + String(uid) }

  /// The tags of both lists, each once.
  package static func union(_ tags: [String], _ more: [String]) -> [String] {
    var all = tags
    for tag in more where !have(tag, all) {
      if isClaim(tag) {
        all.append(EntryClaims.areFull(all) ? EntryClaims.overflow : tag)
      } else if !tag.isEmpty, !areFull(all, for: tag) {
        all.append(tag)
      } else if !areMore(all) {
        all.insert(every, at: 0)
      }
    }
    return all
  }

  /// Whether a tag is there, or adding it would change nothing.
  static func have(_ tag: String, _ tags: [String]) -> Bool {
    if isClaim(tag) { return EntryClaims.have(tag, tags) }
    return tags.contains { sameBytes($0, tag) } || areMore(tags) && areFull(tags, for: tag)
  }

  /// Whether an entry's tags have the one that a purge names, or, where groups count, this group.
  static func meets(_ tag: String, orGroup: Bool = false, _ tags: [String]) -> Bool {
    let (name, isOfUser) = (name(of: tag), isOfUser(tag))
    let isThere = tags.contains { own in
      if isClaim(own) { return false }
      if isGroup(own) { return orGroup && self.name(of: own).elementsEqual(name) }
      return sameBytes(own, tag) || (!isOfUser || !self.isOfUser(own)) && self.name(of: own).elementsEqual(name)
    }
    return isThere || areMore(tags) && (!isOfUser || areFull(tags, for: tag))
  }

  /// Whether there were more tags than are kept.
  static func areMore(_ tags: [String]) -> Bool { tags.first?.isEmpty == true }

  /// Whether there are as many tags as there may be of the kind of this one.
  private static func areFull(_ tags: [String], for tag: String) -> Bool {
    guard isOfUser(tag) else { return tags.count { !$0.isEmpty && !isOfUser($0) && !isClaim($0) } >= most }
    let user = user(of: tag)
    let (own, all) = (tags.count { self.user(of: $0).elementsEqual(user) }, tags.count(where: isOfUser))
    return own >= most || all >= mostOfUsers || all >= mostOfUsers / 2 && own >= fewOfUser
  }

  // MARK: Names

  private static func isGroup(_ tag: String) -> Bool { tag.utf8.first == mark && !isClaim(tag) }

  private static func isOfUser(_ tag: String) -> Bool { tag.utf8.first != mark && tag.utf8.contains(mark) }

  /// The bytes by which a purge names a tag or a group.
  static func name(of tag: String) -> Substring.UTF8View {
    isGroup(tag) ? tag.utf8.dropFirst() : isClaim(tag) ? tag.utf8[...] : tag.utf8.prefix { $0 != mark }
  }

  /// What follows the name in a user's tag: nothing else has it.
  private static func user(of tag: String) -> Substring.UTF8View {
    isOfUser(tag) ? tag.utf8.drop { $0 != mark } : tag.utf8.suffix(0)
  }

  /// The names of the groups among some tags.
  package static func groups(_ tags: [String]) -> [String] {
    tags.filter(isGroup).map { String(decoding: name(of: $0), as: UTF8.self) }
  }

  /// The names of the tags that a user may see, or of all; nil if there were more than are kept.
  package static func names(_ tags: [String], shownTo uid: UInt32?) -> [String]? {
    let own = uid.map { tag("any", of: $0) }
    if areMore(tags), own.map({ areFull(tags, for: $0) }) ?? true { return nil }
    let shown = tags.filter { tag in
      guard let own, isOfUser(tag) else { return !tag.isEmpty && tag.utf8.first != mark }
      return user(of: tag).elementsEqual(user(of: own))
    }
    return eachOnceInByteOrder(shown.map { String(decoding: name(of: $0), as: UTF8.self) })
  }

  /// The tags that are no groups.
  package static func withoutGroups(_ tags: [String]) -> [String] { tags.filter { !isGroup($0) } }

  // MARK: Users

  static func isClaim(_ tag: String) -> Bool { tag.utf8.starts(with: EntryClaims.overflow.utf8) }

  /// What users have left: their claims, their tags, and that there were more.
  static func ofUsers(_ tags: [String]) -> [String] { tags.filter { isClaim($0) || isOfUser($0) || $0.isEmpty } }

  /// The tags without what a user has left.
  package static func without(_ uid: UInt32, _ tags: [String]) -> [String] {
    let (claim, own) = (EntryClaims.tag(of: uid), user(of: tag("any", of: uid)))
    return tags.filter { !sameBytes($0, claim) && !(isOfUser($0) && user(of: $0).elementsEqual(own)) }
  }

  /// The tags as other hosts may have them: without claims, and without saying whose they are.
  static func withoutUsers(_ tags: [String]) -> [String] {
    union(
      [], tags.filter { !isClaim($0) }.map { isOfUser($0) ? String(decoding: name(of: $0), as: UTF8.self) + "\0" : $0 })
  }
}
