import ImgdSystem
import Testing

@testable import ImgdCache

@Suite struct MemoryEvictionTests {
  private let cost = image("http://h/0000").cost

  private func tier(_ rule: EvictionRule, preferred: Int = 60) -> MemoryTier {
    MemoryTier(limits: limits(rule, preferred: preferred))
  }

  private func limits(_ rule: EvictionRule, preferred: Int = 60) -> MemoryTier.Limits {
    MemoryTier.Limits(
      capacity: 100 * cost, preferred: preferred * cost, maxEntry: 50 * cost, eviction: rule)
  }

  private func url(_ number: Int) -> String { "http://h/\(1_000 + number)" }

  private func add(_ numbers: Range<Int>, to tier: MemoryTier) {
    for number in numbers { _ = tier.add(image(url(number)), at: at(0)) }
  }

  private func kept(_ numbers: Range<Int>, by tier: MemoryTier) -> [Int] {
    numbers.filter { tier.peek(key(url($0))) != nil }
  }

  @Test(arguments: [(EvictionRule.leastRecent, 0), (.scanResistant, 20)])
  func `pictures that are asked for again outlive a scan`(rule: EvictionRule, left: Int) {
    let tier = tier(rule)
    add(0..<20, to: tier)
    for number in 0..<20 { #expect(tier.image(for: key(url(number)), at: at(1)) != nil) }
    add(100..<1_100, to: tier)
    #expect(kept(0..<20, by: tier).count == left)
    #expect(tier.usage <= tier.limits.capacity)
  }

  @Test func `a scan leaves its newest tenth when others have to go as well`() {
    let tier = tier(.scanResistant)
    add(0..<80, to: tier)
    for number in 0..<80 { _ = tier.image(for: key(url(number)), at: at(1)) }
    add(100..<121, to: tier)
    // Newcomers go until eight of them are less than a tenth of what is left; then the others go, and
    // a newcomer each time that newcomers are more than a tenth again.
    let newcomers = kept(100..<121, by: tier).count
    #expect(newcomers == 6 && kept(0..<80, by: tier).count == 54)
  }

  @Test func `a replacement counts as asked for again`() {
    let tier = tier(.scanResistant)
    add(0..<1, to: tier)
    _ = tier.add(image(url(0), serial: 2), at: at(1))
    add(100..<400, to: tier)
    #expect(kept(0..<1, by: tier) == [0])
  }

  @Test func `another rule applies from its reload on`() {
    let tier = tier(.leastRecent)
    add(0..<50, to: tier)
    #expect(tier.apply(limits(.scanResistant)) == .none)
    add(100..<151, to: tier)
    #expect(kept(0..<50, by: tier).count == 50)
    _ = tier.apply(limits(.leastRecent))
    add(200..<300, to: tier)
    #expect(kept(0..<50, by: tier).isEmpty)
  }

  @Test func `the next process knows what was asked for again`() throws {
    let first = tier(.scanResistant)
    add(0..<40, to: first)
    for number in 0..<20 { _ = first.image(for: key(url(number)), at: at(1)) }
    let handover = try #require(
      try first.handover(
        within: HandoverLimits(descriptors: 8, bytes: 1 << 30), isClean: true, release: "1",
        at: at(2), wall: 2))
    let second = tier(.scanResistant)
    let taken = try second.takeOver(
      index: handover.index, bodies: handover.bodies, release: "1", at: at(0), wall: 3)
    #expect(taken.entries == 40)
    add(100..<161, to: second)
    #expect(kept(0..<40, by: second) == Array(0..<20))
  }

  @Test func `a use keeps its account when a picture's cost changes`() {
    let tier = tier(.scanResistant)
    add(0..<60, to: tier)
    for number in 0..<60 {
      guard let image = tier.peek(key(url(number))) else { continue }
      _ = tier.keepReply([UInt8](repeating: 0, count: 200), with: image)
      _ = tier.image(for: key(url(number)), at: at(1))
    }
    // Were bytes of them still counted, or too many taken off, another number would be a tenth.
    add(100..<130, to: tier)
    _ = tier.apply(
      MemoryTier.Limits(
        capacity: 50 * cost, preferred: 50 * cost, maxEntry: cost, eviction: .scanResistant))
    #expect((4...5).contains(kept(100..<130, by: tier).count))
  }
}
