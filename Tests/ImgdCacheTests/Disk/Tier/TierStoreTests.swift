import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct TierStoreTests {
  @Test func `a stored picture is fetched`() throws {
    let stage = try TierStage()
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.store(photo(url(1), body(5_000), tags: ["a"], on: stage)) == nil)
    let image = try #require(stage.fetch(url(1)))
    #expect(content(image.payload) == body(5_000))
    #expect(image.key == key(url(1)))
    #expect(image.tags == ["a"])
    #expect(image.facts.width == 8)
    #expect(image.isFresh(at: stage.now))
    #expect(stage.tier.count == 1)
    #expect(stage.tier.counts.hits == 1)
    #expect(stage.tier.counts.misses == 1)
    #expect(stage.tier.counts.insertions == 1)
    #expect(stage.news.stored == 1)
    #expect(try stage.pictures().count == 1)
  }

  /// It would come back when memory has let go of the newer one.
  @Test func `what could not be replaced is not shown any more`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(1_000), on: stage))
    stage.store(photo(url(2), body(1_000), on: stage))
    let lock = try stage.lockIndex()
    stage.store(photo(url(1), body(2_000), on: stage))
    #expect(stage.fetch(url(1)) == nil)
    try stage.letGo(lock)
    stage.pass(.seconds(3))
    #expect(stage.tier.state == .ok)
    #expect(stage.known([url(1), url(2)]) == [url(2)])
    try stage.restart()
    #expect(stage.known([url(1), url(2)]) == [url(2)])
  }

  @Test func `the newer of two is stored when both have to be stored again`() throws {
    let stage = try TierStage()
    TemporaryDirectory.remove(stage.place.path)
    for size in [1_000, 2_000] { #expect(stage.tier.add(photo(url(1), body(size), on: stage)) == nil) }
    stage.turn()
    #expect(stage.fetch(url(1))?.payload.count == 2_000)
    #expect(try stage.pictures().count == 1)
  }

  /// What a look for a picture says that began before the writer came to what was asked for earlier.
  private func seen(_ url: String, on stage: TierStage, before: () -> Void) throws -> EntryDetails? {
    let mayWrite = Shared(false)
    stage.parts.threads.order({ _ in _ = mayWrite.wait { $0 ? true : nil } })
    before()
    var seen: [EntryDetails?] = []
    stage.tier.look(for: key(url)) { seen.append($0) }
    let hasRead = Shared(false)
    stage.parts.threads.ask({ _ in hasRead.with { $0 = true } }, then: {})
    _ = hasRead.wait { $0 ? true : nil }
    mayWrite.with { $0 = true }
    stage.turn()
    #expect(seen.count == 1)
    return seen.first ?? nil
  }

  @Test func `a look finds what is on its way, and what it replaces no more`() throws {
    let stage = try TierStage()
    for size in [1_000, 2_000] {
      let details = try #require(
        try seen(url(1), on: stage) {
          #expect(stage.tier.add(photo(url(1), body(size), on: stage)) == nil)
        })
      #expect(details.bytes == size && details.hasBody)
      #expect(try stage.pictures().contains(details.path))
    }
  }

  /// Memory may have let go of the newer one by then, and would keep the older one in its place.
  @Test func `a picture that was being read is not found once a newer one has come`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(1_000), on: stage))
    let mayWrite = Shared(false)
    stage.parts.threads.order({ _ in _ = mayWrite.wait { $0 ? true : nil } })
    var found: [Int?] = []
    _ = stage.tier.fetch(key(url(1))) { found.append($0?.payload.count) }
    #expect(stage.tier.add(photo(url(1), body(2_000), on: stage)) == nil)
    while found.isEmpty { stage.loop.tick(waiting: true) }
    #expect(found == [2_000])
    mayWrite.with { $0 = true }
    stage.turn()
  }

  @Test func `a look finds what has been confirmed, whether or not that is written down`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(1_000), on: stage))
    let image = try #require(stage.fetch(url(1)))
    stage.jump(.seconds(60))
    let details = try seen(url(1), on: stage) {
      stage.tier.renew(
        image.renewed(
          answer: ImageAnswer(
            image.response,
            freshness: Freshness(status: 200, headers: fresh, receivedAt: stage.wall)),
          tags: ["new"], serial: 2,
          stored: StoredMoment(stage.now, wall: stage.wall)))
    }
    #expect(details?.freshFor == 3_600 && details?.age == 0 && details?.claims.tags == ["new"])
  }

  @Test func `memory is given back when no disk job is left`() throws {
    let stage = try TierStage()
    // Several batches.
    for number in 0..<200 {
      #expect(stage.tier.add(photo(url(number), body(1_000), on: stage)) == nil)
    }
    var stored: [Int] = []
    for _ in 0..<2 { stage.tier.giveBack { stored.append(stage.tier.count) } }
    stage.turn()
    #expect(stored == [200], "once, and not before")
    // And again, when there is nothing to wait for.
    stage.tier.giveBack { stored.append(stage.tier.count) }
    stage.turn()
    #expect(stored == [200, 200])
    #expect(stage.fetch(url(7)) != nil)
  }

  @Test func `a large picture is fetched as it was stored`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(3 << 20), on: stage))
    let image = try #require(stage.fetch(url(1)))
    #expect(content(image.payload) == body(3 << 20))
    #expect(stage.tier.allocated >= 3 << 20)
  }

  @Test func `pictures with different identifiers are separate`() throws {
    let stage = try TierStage()
    stage.store(photo(key(url(1)), body(10), on: stage))
    stage.store(photo(key(url(1), "a"), body(20), on: stage))
    #expect(stage.fetch(key(url(1)))?.payload.count == 10)
    #expect(stage.fetch(key(url(1), "a"))?.payload.count == 20)
    #expect(stage.fetch(key(url(1), "b")) == nil)
  }

  @Test func `a new picture replaces the old one`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(10), on: stage))
    stage.store(photo(url(1), body(20), on: stage))
    #expect(stage.fetch(url(1))?.payload.count == 20)
    #expect(stage.tier.count == 1)
    #expect(stage.tier.counts.replacements == 1)
  }

  @Test func `the file of a replaced picture stays for its lease`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(10), on: stage))
    stage.store(photo(url(1), body(20), on: stage))
    #expect(try stage.pictures().count == 2)
    try stage.restart(wall: TierStage.start + 61)
    #expect(try stage.pictures().count == 1)
  }

  @Test func `the newer of two simultaneous stores of a key stays`() throws {
    let stage = try TierStage()
    let (first, second) = (
      photo(url(1), body(10), on: stage), photo(url(1), body(20), on: stage)
    )
    #expect(stage.tier.add(first) == nil)
    #expect(stage.tier.add(second) == nil)
    guard case .now(let image?) = stage.tier.fetch(key(url(1)), then: { _ in }) else {
      Issue.record("a picture on its way to the disk is in memory")
      return
    }
    #expect(image === second)
    stage.turn()
    #expect(stage.fetch(url(1))?.payload.count == 20)
    #expect(stage.tier.count == 1)
    #expect(!stage.tier.holds(first))
    #expect(stage.tier.holds(second))
  }

  @Test func `a picture that is being written is fetched from memory`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    stage.tier.add(image)
    guard case .now(let found?) = stage.tier.fetch(key(url(1)), then: { _ in }) else {
      Issue.record("a picture on its way to the disk is in memory")
      return
    }
    #expect(found === image)
    stage.turn()
    #expect(stage.parts.stores.isEmpty)
  }

  @Test func `the same image is stored once`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    stage.tier.add(image)
    stage.tier.add(image)
    stage.turn()
    #expect(stage.tier.counts.insertions == 1)
    #expect(try stage.pictures().count == 1)
  }

  @Test func `many pictures are stored in order`() throws {
    let stage = try TierStage()
    for number in 0..<300 { stage.tier.add(photo(url(number), body(number + 1), on: stage)) }
    stage.turn()
    #expect(stage.tier.count == 300)
    #expect(stage.parts.stores.isEmpty)
    #expect(stage.parts.stores.bytes == 0)
    for number in 0..<300 { #expect(stage.fetch(url(number))?.payload.count == number + 1) }
  }

  // MARK: Refusals

  @Test func `a picture that must not be stored is refused`() throws {
    let stage = try TierStage()
    let scope = CredentialScope(uid: 1, credentials: [("cookie", "a")])
    let noStore = photo(url(1), headers: [("cache-control", "no-store")], on: stage)
    #expect(stage.store(noStore) == .noStore)
    #expect(stage.store(photo(key(url(1), nil, scope), on: stage)) == .credentials)
    #expect(stage.store(photo(key(url(1)), on: stage, isPurged: true)) == .purged)
    #expect(stage.store(image(key(url(1)), width: 0)) == .noStore)
    #expect(stage.tier.count == 0)
    #expect(stage.parts.stores.isEmpty)
    #expect(try stage.pictures() == [])
  }

  @Test func `a picture that is larger than the tier is refused`() throws {
    let stage = try TierStage(.limits(capacity: 10_000))
    #expect(stage.store(photo(url(1), body(10_001), on: stage)) == .tooLarge)
    #expect(stage.store(photo(url(1), body(4_000), on: stage)) == nil)
    #expect(stage.tier.count == 1)
  }

  @Test func `an absent tier stores and finds nothing`() throws {
    let loop = try EventLoop(clock: .manual())
    let tier = DiskTier(offOn: loop)
    let picture = image(url(1))
    #expect(!tier.isEnabled)
    #expect(tier.add(picture) == .off)
    #expect(tier.lend(picture, mayStore: true) == .refused(.off))
    var outcome: PurgeOutcome?
    tier.purge(PurgeFilter(), soft: false) { outcome = $0 }
    #expect(outcome == .done(.none))
    tier.remove(picture.key)
    guard case .now(nil) = tier.fetch(picture.key, then: { _ in }) else {
      Issue.record("an absent tier has nothing")
      return
    }
    tier.stop()
  }

  @Test func `pictures with credentials are not looked up`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    let scope = CredentialScope(uid: 1, credentials: [("cookie", "a")])
    #expect(stage.fetch(key(url(1), nil, scope)) == nil)
    stage.tier.remove(key(url(1), nil, scope))
    stage.turn()
    #expect(stage.tier.count == 1)
  }
}
