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

  /// All claims as they would be kept among the tags, and the users' tags.
  var all: [String] { (owner.map { [Self.tag(of: $0)] } ?? []) + EntryTags.ofUsers(tags) }

  /// The users who are known by name.
  package var users: [UInt32] { (owner.map { [$0] } ?? []) + tags.compactMap(Self.user) }

  private static func user(_ tag: String) -> UInt32? {
    EntryTags.isClaim(tag) ? UInt32(String(decoding: tag.utf8.dropFirst(2), as: UTF8.self)) : nil
  }

  /// What is left without a user's claim and tags: the next one becomes the owner. Nil if nobody is left. Where only such are left
  /// of whom nobody knows the names, the entry is root's, who sees everything.
  package func without(_ uid: UInt32) -> EntryClaims? {
    var left = self
    left.tags = EntryTags.without(uid, tags)
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
