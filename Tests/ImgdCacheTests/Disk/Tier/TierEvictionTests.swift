import ImgdSystem
import Testing

@testable import ImgdCache

@Suite struct TierEvictionTests {
  private static let block = 4_096
  /// A lease is made half as long again, so that not every use has to renew it.
  private static let longestLease = Duration.seconds(91)

  /// Room for twenty pictures of a block each, of which an eviction leaves twelve.
  private static func limits(_ rule: EvictionRule) -> DiskTier.Limits {
    .limits(capacity: 20 * block, trimTo: 60, eviction: rule)
  }

  private func store(_ numbers: Range<Int>, on stage: TierStage) {
    for number in numbers {
      stage.store(photo(url(number), body(4_096), on: stage))
      stage.jump(.seconds(1))
    }
  }

  private func kept(_ numbers: Range<Int>, by stage: TierStage) -> [Int] {
    numbers.filter { stage.known([url($0)]) != [] }
  }

  @Test(arguments: [(EvictionRule.leastRecent, 0), (.scanResistant, 5)])
  func `pictures that are asked for again outlive a scan`(rule: EvictionRule, left: Int) throws {
    let stage = try TierStage(Self.limits(rule))
    store(0..<5, on: stage)
    for number in 0..<5 { #expect(stage.fetch(url(number)) != nil) }
    store(10..<40, on: stage)
    #expect(kept(0..<5, by: stage).count == left)
    #expect(stage.tier.allocated <= stage.tier.limits.capacity)
  }

  @Test func `the delivery to those who waited for a picture is no second request`() throws {
    let stage = try TierStage(Self.limits(.scanResistant))
    let image = photo(url(0), body(4_096), on: stage)
    stage.store(image)
    #expect(stage.lend(image) == .lent)
    stage.pass(Self.longestLease)
    store(10..<40, on: stage)
    #expect(kept(0..<1, by: stage) == [])
  }

  @Test func `a picture that is stored anew counts as asked for again`() throws {
    let stage = try TierStage(Self.limits(.scanResistant))
    store(0..<1, on: stage)
    store(0..<1, on: stage)
    store(10..<40, on: stage)
    #expect(kept(0..<1, by: stage) == [0])
  }

  @Test func `a leased newcomer is passed over, and stays a newcomer`() throws {
    let stage = try TierStage(Self.limits(.scanResistant))
    let image = photo(url(0), body(4_096), on: stage)
    stage.store(image)
    #expect(stage.lend(image) == .lent)
    store(10..<31, on: stage)
    #expect(kept(0..<1, by: stage) == [0])
    stage.pass(Self.longestLease)
    store(40..<60, on: stage)
    #expect(kept(0..<1, by: stage) == [])
  }

  @Test func `a use more than a minute after the storing outlives a restart`() throws {
    let stage = try TierStage(Self.limits(.scanResistant))
    store(0..<2, on: stage)
    stage.pass(.seconds(61))
    _ = stage.fetch(url(1))
    stage.turn()
    try stage.restart()
    store(10..<40, on: stage)
    #expect(kept(0..<2, by: stage) == [1])
  }

  @Test func `another rule applies from its reload on`() throws {
    let stage = try TierStage(Self.limits(.leastRecent))
    store(0..<10, on: stage)
    stage.apply(Self.limits(.scanResistant))
    store(20..<31, on: stage)
    #expect(kept(0..<10, by: stage).count == 10)
    stage.apply(Self.limits(.leastRecent))
    store(40..<60, on: stage)
    #expect(kept(0..<10, by: stage) == [])
  }
}
