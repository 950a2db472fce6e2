import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct TierPurgeTests {
  /// Three pictures: two of one host, one of a host below, with and without tags.
  static let urls = [
    "https://example.org/a/1", "https://example.org/b/2", "https://cdn.example.org/a/3",
  ]

  private static let group = EntryTags.tag(ofGroup: "g")

  static func fill(_ stage: TierStage) {
    for (place, url) in urls.enumerated() {
      stage.tier.add(photo(url, body(1_000 * (place + 1)), tags: ["all", "t\(place)", group], on: stage))
    }
  }

  struct Case: Sendable, CustomStringConvertible {
    let description: String
    let change: @Sendable (inout PurgeFilter) -> Void
    /// The places in `urls` of what goes.
    let gone: [Int]
  }

  static let cases: [Case] = [
    Case(
      description: "url",
      change: { $0.url = try? CanonicalURL.parse("https://example.org/a/1") }, gone: [0]),
    Case(description: "prefix", change: { $0.prefix = "https://example.org/" }, gone: [0, 1]),
    Case(description: "host", change: { $0.host = "example.org" }, gone: [0, 1, 2]),
    Case(description: "host below", change: { $0.host = "cdn.example.org" }, gone: [2]),
    Case(description: "tag", change: { $0.tag = "t1" }, gone: [1]),
    Case(description: "tag of all", change: { $0.tag = "all" }, gone: [0, 1, 2]),
    Case(description: "group", change: { ($0.tag, $0.host) = ("g", "cdn.example.org") }, gone: [2]),
    Case(description: "group without a host", change: { $0.tag = "g" }, gone: []),
    Case(description: "identifier", change: { $0.identifier = "x" }, gone: []),
    Case(description: "no identifier", change: { $0.identifier = "" }, gone: [0, 1, 2]),
    Case(
      description: "two conditions",
      change: {
        $0.host = "example.org"
        $0.tag = "t2"
      }, gone: [2]),
    Case(description: "all", change: { _ in }, gone: [0, 1, 2]),
  ]

  @Test(arguments: cases)
  func `a purge removes stored pictures`(purge: Case) throws {
    let stage = try TierStage()
    Self.fill(stage)
    stage.turn()
    #expect(stage.purge(purge.change).entries == purge.gone.count)
    try expectGone(purge, stage)
    try stage.restart()
    try expectGone(purge, stage)
  }

  @Test(arguments: cases)
  func `a purge removes pictures that are being written`(purge: Case) throws {
    let stage = try TierStage()
    Self.fill(stage)
    stage.purge(purge.change)
    try expectGone(purge, stage)
    #expect(stage.parts.stores.isEmpty)
  }

  @Test(arguments: cases)
  func `a purge removes pictures whose rows are not yet loaded`(purge: Case) throws {
    let stage = try TierStage()
    Self.fill(stage)
    stage.turn()
    try stage.restart(turning: false)
    #expect(stage.purge(purge.change).entries <= purge.gone.count)
    try expectGone(purge, stage)
  }

  private func expectGone(_ purge: Case, _ stage: TierStage) throws {
    for (place, url) in Self.urls.enumerated() {
      #expect((stage.fetch(url) == nil) == purge.gone.contains(place), "\(url)")
    }
    #expect(stage.tier.count == 3 - purge.gone.count)
    #expect(try stage.pictures().count == 3 - purge.gone.count)
  }

  // MARK: Ages

  @Test func `a purge finds old, unused and expired pictures`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), headers: [("cache-control", "max-age=10")], on: stage))
    stage.jump(.seconds(100))
    stage.store(photo(url(2), on: stage))
    _ = stage.fetch(url(1))
    stage.jump(.seconds(20))
    #expect(stage.purge { $0.unusedFor = .seconds(30) }.entries == 0)
    #expect(stage.purge { $0.expired = true }.entries == 1)
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.purge { $0.olderThan = .seconds(50) }.entries == 0)
    stage.jump(.seconds(40))
    #expect(stage.purge { $0.unusedFor = .seconds(30) }.entries == 1)
    #expect(stage.tier.count == 0)
  }

  // MARK: Order of events

  @Test func `a fetch during a purge misses at once, and its entry counts`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    var told: [Int] = []
    var filter = PurgeFilter()
    filter.host = "example.org"
    stage.tier.purge(filter, soft: false) { told.append($0.entries) }
    guard case .now(nil) = stage.tier.fetch(key(url(1)), then: { _ in }) else {
      Issue.record("a purge is in force at once")
      return
    }
    stage.turn()
    #expect(told == [1])
    #expect(try stage.pictures() == [])
  }

  @Test func `a fetch that a purge does not match hits`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    var filter = PurgeFilter()
    filter.host = "example.com"
    stage.tier.purge(filter, soft: false) { _ in }
    #expect(stage.fetch(url(1)) != nil)
  }

  @Test(arguments: [false, true])
  func `a picture that is being read during a purge is not delivered`(everything: Bool) throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(1 << 20), on: stage))
    var answers: [CachedImage?] = []
    for _ in 0..<3 {
      guard case .later = stage.tier.fetch(key(url(1)), then: { answers.append($0) }) else {
        Issue.record("a picture on disk has to be read")
        return
      }
    }
    var filter = PurgeFilter()
    if !everything { filter.host = "example.org" }
    stage.tier.purge(filter, soft: false) { _ in }
    stage.turn()
    #expect(answers.count == 3)
    #expect(answers.allSatisfy { $0 == nil })
  }

  @Test(arguments: [false, true])
  func `fetches get the new picture while the old one is read`(
    isPurged: Bool
  ) throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(1_000), on: stage))
    let mayRead = Shared(false)
    stage.parts.threads.ask({ _ in _ = mayRead.wait { $0 ? true : nil } }, then: {})
    var found: [Int?] = []
    let ask = { _ = stage.tier.fetch(key(url(1))) { found.append($0?.payload.count) } }
    ask()
    if isPurged { stage.tier.purge(PurgeFilter(), soft: false) { _ in } }
    stage.tier.add(photo(url(1), body(2_000), on: stage))
    while !stage.parts.stores.isEmpty { stage.loop.tick(waiting: true) }
    ask()
    mayRead.with { $0 = true }
    stage.turn()
    #expect(found == [2_000, 2_000])
  }

  /// Its matches are in an index that is gone; in the next one their numbers name other entries.
  @Test func `a waiting purge does not search an index that is being replaced`() throws {
    let stage = try TierStage()
    Self.fill(stage)
    stage.turn()
    // A use, which has to be noted before the first purge, and cannot be.
    #expect(stage.fetch(Self.urls[2]) != nil)
    for part in ["", "-wal", "-shm"] { unlink(stage.place.path + "/1/index.db" + part) }
    let mayClose = Shared(false)
    stage.parts.threads.ask({ _ in _ = mayClose.wait { $0 ? true : nil } }, then: {})
    var told: [Int] = []
    for tag in ["t0", "t1"] {
      var filter = PurgeFilter()
      filter.tag = tag
      stage.tier.purge(filter, soft: false) { told.append($0.entries) }
    }
    while told.count < 2 { stage.loop.tick(waiting: true) }
    mayClose.with { $0 = true }
    stage.turn()
    #expect(told == [0, 0])
    #expect(stage.tier.state == .ok && !stage.parts.removals.isOwing)
  }

  @Test func `a picture that is stored after a purge stays`() throws {
    let stage = try TierStage()
    Self.fill(stage)
    stage.turn()
    stage.tier.purge(PurgeFilter(), soft: false) { _ in }
    stage.tier.add(photo(url(1), on: stage))
    stage.turn()
    #expect(stage.fetch(url(1)) != nil)
    try stage.restart()
    #expect(stage.fetch(url(1)) != nil)
    #expect(stage.tier.count == 1)
  }

  @Test func `two simultaneous purges are both reported`() throws {
    let stage = try TierStage()
    Self.fill(stage)
    stage.turn()
    var told: [Int] = []
    var filter = PurgeFilter()
    filter.tag = "t0"
    stage.tier.purge(filter, soft: false) { told.append($0.entries) }
    filter.tag = "all"
    stage.tier.purge(filter, soft: false) { told.append($0.entries) }
    stage.turn()
    #expect(told == [1, 2])
    #expect(!stage.parts.gate.isClosed)
  }

  // MARK: Soft

  @Test func `a soft purge leaves pictures for revalidation`() throws {
    let stage = try TierStage()
    Self.fill(stage)
    stage.turn()
    #expect(stage.purge(soft: true) { $0.tag = "t0" }.entries == 1)
    let image = try #require(stage.fetch(Self.urls[0]))
    #expect(image.isStale)
    #expect(!image.isFresh(at: stage.now))
    #expect(stage.fetch(Self.urls[1])?.isStale == false)
    try stage.restart()
    #expect(stage.fetch(Self.urls[0])?.isStale == true)
    #expect(stage.tier.count == 3)
  }

  @Test func `a picture that the origin confirms is no longer stale`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    stage.purge(soft: true) { $0.host = "example.org" }
    let stale = try #require(stage.fetch(url(1)))
    stage.jump(.seconds(10))
    let renewed = stale.renewed(
      answer: ImageAnswer(
        stale.response,
        freshness: Freshness(status: 200, headers: fresh, receivedAt: stage.wall)),
      serial: 2, stored: StoredMoment(stage.now, wall: stage.wall))
    #expect(stage.tier.holds(renewed))
    stage.tier.renew(renewed)
    stage.turn()
    try stage.restart(wall: stage.wall + 5)
    let again = try #require(stage.fetch(url(1)))
    #expect(!again.isStale)
    #expect(again.age(at: stage.now) == 5)
    #expect(again.freshFor(at: stage.now) == 3_595)
    #expect(try stage.pictures().count == 1)
  }

  @Test func `a confirmed picture is found while its row is written`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    let renewed = try #require(stage.fetch(url(1))).renewed(
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: [("x-n", "2")]),
        freshness: Freshness(status: 200, headers: fresh, receivedAt: stage.wall)),
      serial: 2, stored: StoredMoment(stage.now, wall: stage.wall))
    stage.tier.renew(renewed)
    guard case .now(let image?) = stage.tier.fetch(key(url(1)), then: { _ in }) else {
      Issue.record("an older row is read")
      return
    }
    #expect(image === renewed)
    stage.tier.remove(key(url(1)))
    guard case .now(nil) = stage.tier.fetch(key(url(1)), then: { _ in }) else {
      Issue.record("a removed picture is still found")
      return
    }
    stage.turn()
    #expect(stage.fetch(url(1)) == nil)
  }

  // MARK: One key

  @Test func `removing a key removes its file`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    stage.store(photo(key(url(1), "x"), on: stage))
    stage.tier.remove(key(url(1)))
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.fetch(key(url(1), "x")) != nil)
    #expect(try stage.pictures().count == 1)
    stage.tier.remove(key(url(7)))
    stage.turn()
    #expect(stage.tier.count == 1)
  }

  @Test func `removing a key affects a picture that is being written`() throws {
    let stage = try TierStage()
    stage.tier.add(photo(url(1), on: stage))
    stage.tier.remove(key(url(1)))
    #expect(stage.fetch(url(1)) == nil)
    stage.turn()
    #expect(stage.tier.count == 0)
    #expect(try stage.pictures() == [])
  }

  @Test func `a key whose row is not yet loaded is removed`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    stage.store(photo(key(url(1), "x"), on: stage))
    let special = CacheKey(
      url: try CanonicalURL.parse(url(1)), variant: KeyVariant(high: 1, low: 2))
    stage.store(photo(special, on: stage))
    try stage.restart(turning: false)
    stage.tier.remove(key(url(1)))
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.tier.count == 2)
    #expect(stage.fetch(special) != nil)
    #expect(try stage.pictures().count == 2)
  }
}
