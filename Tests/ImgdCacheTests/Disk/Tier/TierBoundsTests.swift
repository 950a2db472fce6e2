import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Work on many entries is done in steps, and what is held is counted.
struct TierBoundsTests {
  /// An index with so many entries, which have no files.
  private func filled(_ count: Int, _ limits: DiskLimits = .roomy) throws -> TierStage {
    let stage = try TierStage(limits)
    for number in 1...count {
      var row = sampleRow(UInt64(number), storedAt: TierStage.start)
      row.number = UInt32(number)
      row.allocated = 4_096
      _ = stage.parts.index.insert(DiskEntry(row))
    }
    return stage
  }

  /// The most entries that leave in one tick, under new limits.
  private func largestStep(_ stage: TierStage, _ limits: DiskLimits) -> Int {
    var (most, before) = (0, stage.tier.count)
    stage.tier.apply(limits)
    for _ in 0..<100 {
      stage.loop.tick(waiting: false)
      most = max(most, before - stage.tier.count)
      before = stage.tier.count
    }
    return most
  }

  @Test func `a trim of many entries takes many ticks`() throws {
    let stage = try filled(20_000)
    #expect(largestStep(stage, .limits(capacity: 4_096)) <= 2 * 256)
    #expect(stage.tier.count == 0)
  }

  @Test func `a purge of many entries takes many ticks`() throws {
    let stage = try TierStage()
    let many = 3 * OpenDisk.mostFound
    for number in 0..<many { stage.tier.add(photo(url(number), body(1), on: stage)) }
    stage.turn()
    var (filter, most, before) = (PurgeFilter(), 0, stage.tier.count)
    #expect(before == many)
    filter.host = "example.org"
    stage.tier.purge(filter, soft: false) { _ in }
    while stage.hasJobs {
      stage.loop.tick(waiting: true)
      most = max(most, before - stage.tier.count)
      before = stage.tier.count
    }
    #expect(before == 0 && most <= OpenDisk.mostFound)
  }

  @Test func `a sweep of many entries takes many ticks`() throws {
    let stage = try filled(20_000, .limits(maxAge: nil))
    stage.advance(.seconds(1_000))
    stage.loop.tick(waiting: false)
    #expect(largestStep(stage, .limits(maxAge: .seconds(1))) <= 2 * 256)
    #expect(stage.tier.count == 0)
  }

  @Test func `a lower age limit holds for entries that a sweep has passed`() throws {
    let stage = try filled(20_000, .limits(maxAge: nil))
    stage.advance(.seconds(1_000))
    stage.loop.tick(waiting: false)
    stage.tier.apply(.limits(maxAge: .seconds(10_000)))
    for _ in 0..<3 { stage.loop.tick(waiting: false) }
    stage.tier.apply(.limits(maxAge: .seconds(1)))
    stage.loop.settle()
    #expect(stage.tier.count == 0)
  }

  /// Each store would look at all of them again.
  @Test func `entries that are all leased are not looked at all the time`() throws {
    let stage = try filled(5_000)
    for place in 0..<5_000 { stage.parts.leases.lease(place) }
    stage.tier.apply(.limits(capacity: 4_096))
    let ticks = stage.loop.tickCount
    stage.loop.settle()
    #expect(stage.loop.tickCount - ticks < 2 * 5_000 / 256)
    #expect(stage.tier.count == 5_000)
    stage.jump(.seconds(91))
    #expect(stage.tier.count == 0)
  }

  @Test func `leases are forgotten when they are over`() throws {
    let stage = try filled(10_000)
    for place in 0..<5_000 { stage.parts.leases.lease(place) }
    #expect(stage.parts.leases.count == 5_000)
    stage.advance(.seconds(91))
    stage.loop.settle()
    for place in 5_000..<9_000 { stage.parts.leases.lease(place) }
    #expect(stage.parts.leases.count <= 4_001)
  }

  @Test func `leases that were put aside hold`() throws {
    let stage = try filled(10)
    stage.parts.leases.lease(0)
    let number = stage.parts.index[0].number
    for place in 1..<5 {
      #expect(stage.parts.leases.takeEnds().end(of: number) > stage.wall)
      stage.parts.leases.lease(place)
    }
    #expect(stage.parts.leases.ends(of: [number]).end(of: number) > stage.wall)
    #expect(stage.parts.leases.takeEnds().former.count == 1)
    stage.jump(.seconds(91))
    #expect(stage.parts.leases.ends(of: [number]).ends.isEmpty)
    #expect(stage.parts.leases.takeEnds().former.isEmpty)
  }

  // MARK: Figures

  @Test func `what the tier holds is counted`() throws {
    let stage = try filled(10_000)
    let entries = stage.tier.held.index
    #expect(entries > 10_000 * MemoryLayout<DiskEntry>.size)
    #expect(entries < 10_000 * 200)
    #expect(stage.tier.held.stores == 0 && stage.tier.held.leases == 0)
    stage.tier.add(photo(url(1), body(100_000), on: stage))
    #expect(stage.tier.held.stores >= 100_000)
    stage.parts.leases.lease(7)
    #expect(stage.tier.held.leases > 0)
    var filter = PurgeFilter()
    filter.host = "example.com"
    stage.tier.purge(filter, soft: false) { _ in }
    #expect(stage.tier.held.removals > 0)
    stage.turn()
    #expect(stage.tier.held.stores == 0 && stage.tier.held.removals == 0)
    #expect(DiskTier(offOn: stage.loop).held.total == 0)
  }
}
