import ImgdSystem
import Testing

@testable import ImgdCache

@Suite("A purge of the memory tier")
struct MemoryPurgeTests {
  private let tier = MemoryTier.holding(1_000_000)
  private let scope = CredentialScope(uid: 1, credentials: [("cookie", "a")])

  init() {
    let images = [
      image(key("http://example.org/a"), tags: ["red", "big"], storedAt: 0),
      image(key("http://example.org/a", "x"), tags: ["red"], storedAt: 10),
      image(key("http://example.org/a", "x", scope), storedAt: 10),
      image(key("https://cdn.example.org:8443/b"), storedAt: 20),
      image(key("http://badexample.org/a"), storedAt: 30),
      image(key("http://[::1]:80/a"), headers: [("cache-control", "max-age=5")], storedAt: 30),
    ]
    for image in images { _ = tier.add(image, at: image.storedAt) }
  }

  private func removed(at now: Int64 = 40, _ change: (inout PurgeFilter) -> Void) -> Int {
    var filter = PurgeFilter()
    change(&filter)
    let (usage, count) = (tier.usage, tier.count)
    let removal = tier.purge(filter, at: at(now))
    #expect(count - tier.count == removal.entries)
    #expect(usage - tier.usage == removal.bytes)
    expectSound(tier)
    return removal.entries
  }

  @Test("without conditions takes everything")
  func everything() { #expect(removed { _ in } == 6) }

  @Test("by URL takes all its identifiers and scopes")
  func byURL() {
    #expect(removed { $0.url = key("http://example.org/a").url } == 3)
    #expect(tier.peek(key("http://badexample.org/a")) != nil)
  }

  @Test("by URL and identifier takes that one, in every scope")
  func byIdentifier() {
    #expect(
      removed {
        $0.url = key("http://example.org/a").url
        $0.identifier = "x"
      } == 2)
    #expect(removed { $0.identifier = "x" } == 0)
  }

  @Test("by the empty identifier takes what has none")
  func byNoIdentifier() {
    #expect(
      removed {
        $0.url = key("http://example.org/a").url
        $0.identifier = ""
      } == 1)
  }

  @Test("nothing lies below an address", arguments: ["0.0.1", "1", "0.1"])
  func byPartOfAnAddress(host: String) throws {
    let key = CacheKey(url: try CanonicalURL.parse("http://127.0.0.1/a"))
    var filter = PurgeFilter()
    filter.host = host
    #expect(!filter.matches(key: key, tags: []))
    filter.host = "127.0.0.1"
    #expect(filter.matches(key: key, tags: []))
  }

  @Test(
    "by host goes by labels",
    arguments: [
      ("example.org", 4), ("EXAMPLE.org", 4), ("cdn.example.org", 1), ("org", 5), ("ample.org", 0),
      ("badexample.org", 1), ("[::1]", 1), ("::1", 0), ("", 0), ("example.org:8443", 0),
      ("x.cdn.example.org", 0), (".example.org", 0),
    ])
  func byHost(host: String, count: Int) { #expect(removed { $0.host = host } == count) }

  @Test(
    "by prefix goes by bytes",
    arguments: [
      ("http://example.org/", 3), ("http://", 5), ("", 6), ("http://example.org/a/", 0),
      ("HTTP://", 0),
    ])
  func byPrefix(prefix: String, count: Int) { #expect(removed { $0.prefix = prefix } == count) }

  @Test("by tag", arguments: [("red", 2), ("big", 1), ("re", 0)])
  func byTag(tag: String, count: Int) { #expect(removed { $0.tag = tag } == count) }

  @Test("by the time since it was stored", arguments: [(0, 6), (10, 4), (20, 3), (39, 1), (40, 0)])
  func byAge(seconds: Int, count: Int) {
    #expect(removed { $0.olderThan = .seconds(seconds) } == count)
  }

  @Test("by the time since it was used")
  func byUse() {
    _ = tier.image(for: key("http://example.org/a"), at: at(40))
    _ = tier.peek(key("http://example.org/a", "x"))
    #expect(removed { $0.unusedFor = .seconds(15) } == 3)
    #expect(tier.peek(key("http://example.org/a")) != nil)
  }

  @Test("of what has expired")
  func expired() {
    #expect(removed(at: 34) { $0.expired = true } == 0)
    #expect(removed(at: 35) { $0.expired = true } == 1)
  }

  @Test("has all its conditions hold")
  func together() {
    #expect(
      removed {
        $0.host = "example.org"
        $0.tag = "red"
        $0.olderThan = .seconds(30)
      } == 1)
  }

  @Test("softly marks stale and removes nothing")
  func softly() {
    var filter = PurgeFilter()
    filter.tag = "big"
    let usage = tier.usage
    #expect(tier.purge(filter, soft: true, at: at(40)).entries == 1)
    #expect(tier.usage == usage)
    let marked = tier.peek(key("http://example.org/a"))
    #expect(marked?.isStale == true)
    #expect(marked?.isFresh(at: at(40)) == false)
    #expect(marked?.freshFor(at: at(40)) == 0)
    #expect(tier.purge(PurgeFilter(), soft: true, at: at(40)).entries == 6)
    #expect(tier.count == 6)
    #expect(tier.readyImage(for: "http://badexample.org/a", identifier: nil, at: at(40)) == nil)
  }

  @Test("knows what is on its way by its name, and takes it for new")
  func onItsWay() {
    var filter = PurgeFilter()
    #expect(filter.matches(key: key("http://h/a"), tags: []))
    filter.host = "h"
    #expect(filter.matches(key: key("http://h/a"), tags: []))
    #expect(!filter.matches(key: key("http://i/a"), tags: []))
    filter.olderThan = .zero
    #expect(!filter.matches(key: key("http://h/a"), tags: []))
  }
}
