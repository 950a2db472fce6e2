import Glibc
import ImgdSystem
import Testing

@testable import ImgdCache

/// Operations on so many entries that they are carried out in parts.
struct TierPartsTests {
  private static let many = 3 * RemovalStep.most + 1

  private static func filled(_ count: Int = many) throws -> TierStage {
    let stage = try TierStage()
    for number in 0..<count { stage.tier.add(photo(url(number), tags: ["all"], on: stage)) }
    stage.turn()
    return stage
  }

  private static func filter(_ everything: Bool) -> PurgeFilter {
    var filter = PurgeFilter()
    if !everything { filter.tag = "all" }
    return filter
  }

  /// With or without entries that are not found any more and still on disk.
  @Test(arguments: [(true, many, true), (false, many, false), (false, 1_100, true)])
  func `a purge of many entries is reported before their files have gone`(
    everything: Bool, count: Int, isEarly: Bool
  ) throws {
    let stage = try Self.filled(count)
    var told: [Int] = []
    stage.tier.purge(Self.filter(everything), soft: false) { told.append($0.entries) }
    #expect(told.isEmpty)
    while told.isEmpty, stage.hasJobs { stage.loop.tick(waiting: true) }
    #expect(stage.tier.count == 0)
    // While the writer removes files, they cannot be listed.
    if isEarly {
      #expect(!stage.parts.removals.isIdle)
    } else {
      #expect(try stage.pictures() == [])
    }
    stage.turn()
    #expect(told == [count])
    #expect(try stage.pictures() == [])
    #expect(stage.parts.removals.isIdle)
    #expect(!stage.parts.gate.isClosed)
  }

  @Test func `many who wait for one picture are told in several ticks`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    let count = DiskLoads.waitersAtOnce + 1
    var told = 0
    for _ in 0..<count {
      _ = stage.tier.fetch(key(url(1))) { image in if image != nil { told += 1 } }
    }
    while told == 0, stage.hasJobs { stage.loop.tick(waiting: true) }
    #expect(told == count - 1)
    stage.turn()
    #expect(told == count)
  }

  /// No purge has been reported yet, and still no entry comes back.
  @Test(arguments: [false, true], [0, 1, 3, 5])
  func `a stop during a purge finishes it`(everything: Bool, ticks: Int) throws {
    let stage = try Self.filled()
    stage.tier.purge(Self.filter(everything), soft: false) { _ in }
    for _ in 0..<ticks where stage.hasJobs { stage.loop.tick(waiting: true) }
    try stage.restart()
    #expect(stage.tier.count == 0)
    #expect(stage.fetch(url(1)) == nil)
    stage.turn()
    #expect(try stage.pictures() == [])
  }

  /// Who waits holds the tier: neither of the two would ever be freed.
  @Test(arguments: [false, true], [0, 1, 3, 5])
  func `a tier that was stopped forgets who waits for a purge`(everything: Bool, ticks: Int) throws {
    final class Client {}
    weak var waiting: Client?
    let stage = try Self.filled()
    let tier = stage.tier
    func purge() {
      let client = Client()
      waiting = client
      tier.purge(Self.filter(everything), soft: false) { _ in _ = client }
    }
    purge()
    for _ in 0..<ticks where stage.hasJobs { stage.loop.tick(waiting: true) }
    stage.end()
    withExtendedLifetime(tier) { #expect(waiting == nil) }
  }

  @Test func `a fetch during a purge of everything does not wait`() throws {
    let stage = try Self.filled()
    stage.tier.purge(PurgeFilter(), soft: false) { _ in }
    guard case .now(nil) = stage.tier.fetch(key(url(1)), then: { _ in }) else {
      Issue.record("after a purge of everything there is nothing")
      return
    }
    stage.tier.add(photo(url(1), body(77), on: stage))
    stage.turn()
    #expect(stage.fetch(url(1))?.payload.count == 77)
    #expect(stage.tier.count == 1)
    try stage.restart()
    #expect(stage.fetch(url(1))?.payload.count == 77)
    // The row that it replaced was still there, so its file has a lease.
    stage.pass(.seconds(61))
    #expect(try stage.pictures().count == 1)
  }

  @Test func `a kill during a purge of everything brings nothing back`() throws {
    let stage = try Self.filled()
    var isTold = false
    stage.tier.purge(PurgeFilter(), soft: false) { _ in isTold = true }
    while !isTold { stage.loop.tick(waiting: true) }
    try stage.crash(turning: false)
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.tier.count == 0)
    stage.turn()
    #expect(try stage.pictures() == [])
  }

  @Test func `a stop during a trim leaves complete entries`() throws {
    let stage = try Self.filled()
    stage.tier.apply(.limits(capacity: 4_096))
    stage.end()
    try stage.begin(at: TierStage.start)
    #expect(stage.tier.count == (try stage.pictures().count))
    for number in 0..<Self.many where stage.known([url(number)]) != [] {
      #expect(stage.fetch(url(number)) != nil)
    }
    #expect(stage.news.troubles == [])
  }

  @Test func `a lease outlives a purge of everything`() throws {
    let stage = try Self.filled()
    let image = try #require(stage.fetch(url(5)))
    #expect(stage.lend(image) == .lent)
    let path = try #require(image.file?.path)
    stage.purge()
    #expect(try stage.pictures() == [path])
    stage.pass(.seconds(91))
    #expect(try stage.pictures() == [])
  }

  // MARK: The index file is removed

  @Test func `the removal of the index is noticed at the next store`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    for part in ["", "-wal", "-shm"] { unlink(stage.place.path + "/1/index.db" + part) }
    stage.store(photo(url(2), on: stage))
    #expect(stage.fetch(url(2)) != nil)
    #expect(stage.tier.count == 1)
    try stage.restart()
    #expect(stage.fetch(url(2)) != nil)
    #expect(try stage.pictures().count == 1)
  }
}
