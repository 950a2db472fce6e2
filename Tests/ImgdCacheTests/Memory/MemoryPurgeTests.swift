import ImgdSystem
import Testing

@testable import ImgdCache

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

  @Test func `a purge without conditions removes everything`() { #expect(removed { _ in } == 6) }

  @Test func `a purge by URL removes all its identifiers and scopes`() {
    #expect(removed { $0.url = key("http://example.org/a").url } == 3)
    #expect(tier.peek(key("http://badexample.org/a")) != nil)
  }

  @Test func `a purge by URL and identifier removes that one in every scope`() {
    #expect(
      removed {
        $0.url = key("http://example.org/a").url
        $0.identifier = "x"
      } == 2)
    #expect(removed { $0.identifier = "x" } == 0)
  }

  @Test func `a purge by the empty identifier removes entries without one`() {
    #expect(
      removed {
        $0.url = key("http://example.org/a").url
        $0.identifier = ""
      } == 1)
  }

  @Test(arguments: ["0.0.1", "1", "0.1"])
  func `a purge by an address matches no names below it`(host: String) throws {
    let key = CacheKey(url: try CanonicalURL.parse("http://127.0.0.1/a"))
    var filter = PurgeFilter()
    filter.host = host
    #expect(!filter.matchesName(key, tags: []))
    filter.host = "127.0.0.1"
    #expect(filter.matchesName(key, tags: []))
  }

  @Test(arguments: [
    ("example.org", 4), ("EXAMPLE.org", 4), ("cdn.example.org", 1), ("org", 5), ("ample.org", 0),
    ("badexample.org", 1), ("[::1]", 1), ("::1", 0), ("", 0), ("example.org:8443", 0),
    ("x.cdn.example.org", 0), (".example.org", 0),
  ])
  func `a purge by host matches whole labels`(host: String, count: Int) {
    #expect(removed { $0.host = host } == count)
  }

  @Test(arguments: [
    ("http://example.org/", 3), ("http://", 5), ("", 6), ("http://example.org/a/", 0),
    ("HTTP://", 0),
  ])
  func `a purge by prefix matches bytes`(prefix: String, count: Int) {
    #expect(removed { $0.prefix = prefix } == count)
  }

  @Test(arguments: [("red", 2), ("big", 1), ("re", 0)])
  func `a purge by tag removes the entries with that tag`(tag: String, count: Int) {
    #expect(removed { $0.tag = tag } == count)
  }

  @Test(arguments: [(0, 6), (10, 4), (20, 3), (39, 1), (40, 0)])
  func `a purge by age counts from the time of storing`(seconds: Int, count: Int) {
    #expect(removed { $0.olderThan = .seconds(seconds) } == count)
  }

  @Test func `a purge by idle time counts from the last use`() {
    _ = tier.image(for: key("http://example.org/a"), at: at(40))
    _ = tier.peek(key("http://example.org/a", "x"))
    #expect(removed { $0.unusedFor = .seconds(15) } == 3)
    #expect(tier.peek(key("http://example.org/a")) != nil)
  }

  @Test func `a purge of expired entries keeps fresh ones`() {
    #expect(removed(at: 34) { $0.expired = true } == 0)
    #expect(removed(at: 35) { $0.expired = true } == 1)
  }

  @Test func `a purge removes entries that meet all its conditions`() {
    #expect(
      removed {
        $0.host = "example.org"
        $0.tag = "red"
        $0.olderThan = .seconds(30)
      } == 1)
  }

  @Test func `a soft purge marks entries as stale and removes nothing`() {
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
}
