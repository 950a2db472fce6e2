import Testing

@testable import ImgdCache

struct EntryClaimsTests {
  private func tags(_ uids: ClosedRange<UInt32>) -> [String] { uids.map(EntryClaims.tag) }

  @Test func `claims are counted apart from tags, and outlive them`() {
    let many = (10..<74).map { "tag\($0)" }
    let all = EntryTags.union(EntryTags.union(many, tags(1...3)), [])
    #expect(!EntryTags.areMore(all) && all.count == 67)
    let more = EntryTags.union(all, ["one more"])
    #expect(more == [""] + all)
    #expect(EntryTags.union(more, tags(4...4)) == [""] + all + tags(4...4))
    #expect(EntryTags.names(all, shownTo: nil) == many && EntryTags.groups(all) == [])
    #expect(EntryTags.withoutUsers(more) == [""] + many)
    #expect(EntryTags.withoutGroups(["\0group"] + tags(1...1)) == tags(1...1))
  }

  @Test func `no purge is about a claim`() {
    #expect(!EntryTags.meets("1", orGroup: true, tags(1...1)))
    #expect(EntryTags.have(EntryClaims.tag(of: 1), tags(1...1)))
    #expect(!EntryTags.have(EntryClaims.tag(of: 2), tags(1...1)))
    // Every tag, but nobody's claim.
    #expect(!EntryTags.have(EntryClaims.tag(of: 2), [""]))
  }

  @Test func `beyond seven there are more`() {
    let full = EntryTags.union([], tags(1...9))
    #expect(full == tags(1...7) + [EntryClaims.overflow])
    #expect(EntryTags.union(full, tags(10...12)) == full)
    #expect(EntryTags.have(EntryClaims.tag(of: 9), full))
    var claims = EntryClaims(owner: 100, tags: full)
    #expect(claims.include(100) && claims.include(7) && !claims.include(8))
    #expect(claims.users == [100] + Array(1...7))
    for uid in [100] + Array(1...7) as [UInt32] { claims = claims.without(uid) ?? claims }
    #expect(claims.owner == 0 && claims.tags == [EntryClaims.overflow])
  }

  @Test func `the next one becomes the owner, and the last one leaves nobody`() throws {
    var claims = EntryClaims(owner: 1, tags: ["tag"] + tags(2...3))
    claims = try #require(claims.without(3))
    #expect(claims.owner == 1 && claims.tags == ["tag"] + tags(2...2))
    claims = try #require(claims.without(1))
    #expect(claims.owner == 2 && claims.tags == ["tag"])
    #expect(claims.without(2) == nil)
    #expect(EntryClaims(owner: nil, tags: tags(2...2)).without(2) == nil)
  }
}
