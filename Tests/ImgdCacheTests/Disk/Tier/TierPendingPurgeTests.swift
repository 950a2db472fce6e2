import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Purges that cannot go on, since the writer is busy: they are in force, and hold up nobody.
struct TierPendingPurgeTests {
  private static let urls = TierPurgeTests.urls

  private func filled() throws -> TierStage {
    let stage = try TierStage(.limits(lease: .zero))
    TierPurgeTests.fill(stage)
    stage.turn()
    return stage
  }

  /// Keeps the writer busy until it is set.
  private func busy(_ stage: TierStage) -> Shared<Bool> {
    let mayGoOn = Shared(false)
    stage.parts.threads.order({ _ in _ = mayGoOn.wait { $0 ? true : nil } }, then: { _ in })
    return mayGoOn
  }

  /// A fetch that must be answered by the reader alone.
  private func fetch(_ url: String, _ stage: TierStage) -> CachedImage? {
    var answer: CachedImage??
    switch stage.tier.fetch(key(url), then: { answer = .some($0) }) {
    case .now(let image): return image
    case .later: while answer == nil { stage.loop.tick(waiting: true) }
    }
    return answer ?? nil
  }

  private func listed(_ stage: TierStage) -> [String] {
    var page: EntryPage?
    stage.tier.page(after: nil, limit: 9) { page = $0 }
    while page == nil { stage.loop.tick(waiting: true) }
    return page?.entries.map(\.url) ?? []
  }

  private func filter(_ purge: TierPurgeTests.Case) -> PurgeFilter {
    var filter = PurgeFilter()
    purge.change(&filter)
    return filter
  }

  // MARK: One purge

  @Test(arguments: TierPurgeTests.cases)
  func `a purge is in force before it is carried out`(purge: TierPurgeTests.Case) throws {
    let stage = try filled()
    let mayGoOn = busy(stage)
    var told: [Int] = []
    stage.tier.purge(filter(purge), soft: false) { told.append($0.entries) }
    let kept = Self.urls.indices.filter { !purge.gone.contains($0) }.map { Self.urls[$0] }
    #expect(listed(stage) == kept)
    for url in Self.urls { #expect((fetch(url, stage) != nil) == kept.contains(url), "\(url)") }
    #expect(told.isEmpty)
    mayGoOn.with { $0 = true }
    stage.turn()
    #expect(told == [purge.gone.count])
    #expect(try stage.pictures().count == kept.count)
    #expect(stage.parts.pending.isEmpty && stage.parts.removals.isIdle)
    try stage.crash()
    #expect(stage.known(Self.urls) == kept)
  }

  @Test(arguments: TierPurgeTests.cases)
  func `a soft purge is in force before it is carried out`(purge: TierPurgeTests.Case) throws {
    let stage = try filled()
    let mayGoOn = busy(stage)
    var told: [Int] = []
    stage.tier.purge(filter(purge), soft: true) { told.append($0.entries) }
    for (place, url) in Self.urls.enumerated() {
      #expect(fetch(url, stage)?.isStale == purge.gone.contains(place), "\(url)")
    }
    mayGoOn.with { $0 = true }
    stage.turn()
    #expect(told == [purge.gone.count])
  }

  @Test(arguments: TierPurgeTests.cases)
  func `an answer from the index alone respects purges`(purge: TierPurgeTests.Case) throws {
    let stage = try filled()
    for url in Self.urls { #expect(stage.lend(try #require(stage.fetch(url))) == .lent) }
    let mayGoOn = busy(stage)
    stage.tier.purge(filter(purge), soft: false) { _ in }
    for (place, url) in Self.urls.enumerated() where purge.gone.contains(place) {
      let digest = KeyDigest(url: url, identifier: nil)
      for form in [ReadyHit.Form.path, .descriptor, .bytes(atMost: 1_000)] {
        let isFound = stage.tier.readyHit(digest, of: url, identifier: nil, as: form) != nil
        #expect(!isFound, "\(form)")
      }
    }
    mayGoOn.with { $0 = true }
    stage.turn()
  }

  @Test func `a picture with too many tags has every one before a purge is carried out`() throws {
    let stage = try TierStage(.limits(lease: .zero))
    stage.store(photo(url(1), tags: [""], on: stage))
    let mayGoOn = busy(stage)
    var filter = PurgeFilter()
    filter.tag = "t"
    stage.tier.purge(filter, soft: false) { _ in }
    #expect(fetch(url(1), stage) == nil)
    mayGoOn.with { $0 = true }
    stage.turn()
  }

  @Test func `ages are asked of the index`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), headers: [("cache-control", "max-age=10")], on: stage))
    stage.jump(.seconds(100))
    stage.store(photo(url(2), on: stage))
    for change in [
      { $0.expired = true }, { $0.olderThan = .seconds(50) }, { $0.unusedFor = .seconds(50) },
    ] as [(inout PurgeFilter) -> Void] {
      var filter = PurgeFilter()
      change(&filter)
      let mayGoOn = busy(stage)
      stage.tier.purge(filter, soft: false) { _ in }
      #expect(fetch(url(1), stage) == nil)
      #expect(fetch(url(2), stage) != nil)
      mayGoOn.with { $0 = true }
      stage.turn()
      stage.jump(.seconds(100))
      stage.store(photo(url(1), headers: [("cache-control", "max-age=10")], on: stage))
      stage.jump(.seconds(100))
      stage.store(photo(url(2), on: stage))
    }
  }

  @Test func `a picture that replaces a purged one leaves no file of it`() throws {
    let stage = try filled()
    let mayGoOn = busy(stage)
    var filter = PurgeFilter()
    filter.host = "example.org"
    stage.tier.purge(filter, soft: false) { _ in }
    #expect(fetch(Self.urls[0], stage) == nil)
    stage.tier.add(photo(Self.urls[0], body(50), on: stage))
    stage.loop.tick(waiting: false)
    mayGoOn.with { $0 = true }
    stage.turn()
    #expect(try stage.pictures().count == stage.tier.count)
  }

  // MARK: Many purges

  private static let kinds: [@Sendable (Int, inout PurgeFilter) -> Void] = [
    { $1.url = try? CanonicalURL.parse("https://example.com/\($0)") },
    { $1.prefix = "https://example.com/\($0)" },
    { $1.host = "h\($0).example.com" },
    { $1.tag = "none \($0)" },
    { $1.identifier = "\($0)" },
    { $1.olderThan = .seconds(1_000 + $0) },
  ]

  /// With as many jobs for the writer as there are purges, a request after them would wait for
  /// half a minute.
  @Test(arguments: kinds.indices)
  func `ten thousand purges that match nothing hold up nobody`(kind: Int) throws {
    let stage = try filled()
    let mayGoOn = busy(stage)
    var told = 0
    for number in 0..<10_000 {
      var filter = PurgeFilter()
      Self.kinds[kind](number, &filter)
      stage.tier.purge(filter, soft: false) { if $0 == .done(.none) { told += 1 } }
    }
    for url in Self.urls { #expect(fetch(url, stage) != nil) }
    #expect(told == 0)
    mayGoOn.with { $0 = true }
    let ticks = stage.loop.tickCount
    stage.turn()
    #expect(told == 10_000)
    #expect(stage.loop.tickCount - ticks < 1_500)
    #expect(stage.parts.removals.isIdle && stage.parts.pending.isEmpty)
    #expect(
      try IndexFile(path: stage.place.path + "/1/index.db", access: .readOnly).removals.all() == [])
  }

  /// A purge that has to look at everything does not make the others wait for its end.
  @Test func `purges that are led to nothing overtake one that looks at everything`() throws {
    let stage = try TierStage()
    for number in 0..<5_000 { stage.tier.add(photo(url(number), body(10), on: stage)) }
    stage.turn()
    var told: [String] = []
    var (slow, quick) = (PurgeFilter(), PurgeFilter())
    slow.olderThan = .seconds(1_000)
    quick.host = "example.com"
    stage.tier.purge(slow, soft: false) { _ in told.append("slow") }
    stage.tier.purge(quick, soft: false) { _ in told.append("quick") }
    stage.turn()
    #expect(told == ["quick", "slow"])
  }
}
