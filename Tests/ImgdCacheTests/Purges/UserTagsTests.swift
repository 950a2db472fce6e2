import Testing

@testable import ImgdCache

struct UserTagsTests {
  private let both = [
    EntryTags.tag("news", of: 1), EntryTags.tag("news", of: 21), EntryTags.tag("sport", of: 1), "all",
  ]

  @Test func `a user sees tags of the origin and the user's own`() {
    #expect(EntryTags.names(both, shownTo: 1) == ["all", "news", "sport"])
    #expect(EntryTags.names(both, shownTo: 21) == ["all", "news"])
    #expect(EntryTags.names(both, shownTo: 2) == ["all"])
    #expect(EntryTags.names(both, shownTo: nil) == ["all", "news", "sport"])
  }

  @Test func `a user purges by what the user sees, an administrator by all names`() {
    func meets(_ tag: String, _ uid: UInt32?) -> Bool {
      EntryTags.meets(uid.map { EntryTags.tag(tag, of: $0) } ?? tag, both)
    }
    #expect(meets("sport", 1) && !meets("sport", 21) && meets("sport", nil))
    #expect(meets("all", 2) && meets("all", nil))
    #expect(!meets("new", 1) && !meets("new", nil) && !meets("", nil))
  }

  @Test func `a group of the origin is any user's to purge by with a host`() {
    let tags = [EntryTags.tag(ofGroup: "news")]
    #expect(EntryTags.meets(EntryTags.tag("news", of: 1), orGroup: true, tags))
    #expect(!EntryTags.meets(EntryTags.tag("news", of: 1), tags))
  }

  @Test func `a user's flood is that user's alone, and an administrator's purge misses nothing`() {
    let flood = (0..<70).map { EntryTags.tag("t\($0)", of: 2) }
    let tags = EntryTags.union(both, flood)
    #expect(tags.count == both.count + EntryTags.most + 1)
    #expect(EntryTags.names(tags, shownTo: 2) == nil && EntryTags.names(tags, shownTo: nil) == nil)
    #expect(EntryTags.names(tags, shownTo: 1) == ["all", "news", "sport"])
    #expect(!EntryTags.meets(EntryTags.tag("t69", of: 1), tags))
    #expect(EntryTags.meets(EntryTags.tag("t69", of: 2), tags) && EntryTags.meets("t69", tags))
    // Others' are still taken in.
    #expect(EntryTags.union(tags, [EntryTags.tag("new", of: 1), "new"]).count == tags.count + 2)
    #expect(EntryTags.union(tags, flood) == tags)
  }

  @Test func `two floods leave the others room`() {
    let flood = (0..<70).flatMap { [EntryTags.tag("t\($0)", of: 2), EntryTags.tag("t\($0)", of: 3)] }
    let tags = EntryTags.union(both, flood + [EntryTags.tag("new", of: 1)])
    #expect(EntryTags.names(tags, shownTo: 1) == ["all", "new", "news", "sport"])
    #expect(!EntryTags.meets(EntryTags.tag("t1", of: 1), tags) && EntryTags.meets("t69", tags))
  }

  @Test func `a flood of many users is bounded, and then a purge misses nothing`() {
    let flood = (0..<300).map { EntryTags.tag("t", of: $0 + 100) }
    let tags = EntryTags.union(both, flood)
    #expect(tags.count == 1 + 1 + EntryTags.mostOfUsers)
    #expect(EntryTags.meets(EntryTags.tag("new", of: 1), tags))
  }

  @Test func `what a user has left goes with the claim`() {
    let tags = both + [EntryClaims.tag(of: 1), EntryClaims.tag(of: 21)]
    #expect(EntryTags.without(1, tags) == [both[1], "all", EntryClaims.tag(of: 21)])
  }

  @Test func `another host learns the name, and not whose it is`() {
    let tags = EntryTags.withoutUsers(both + [EntryClaims.tag(of: 1)])
    #expect(tags == ["news\0", "sport\0", "all"])
    #expect(EntryTags.meets("news", tags) && !EntryTags.meets(EntryTags.tag("news", of: 1), tags))
    #expect(EntryTags.names(tags, shownTo: 1) == ["all"])
  }
}
