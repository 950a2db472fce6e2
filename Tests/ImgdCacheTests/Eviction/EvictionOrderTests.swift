import ImgdTestSupport
import Testing

@testable import ImgdCache

/// The order in its simplest form, without regard to speed: an array, oldest use first.
private struct PlainOrder {
  struct Entry: Equatable {
    let place: Int
    var size: Int
    var isUsedAgain: Bool
  }

  var tellsNewcomers: Bool
  var entries: [Entry] = []

  var usage: Int { entries.reduce(0) { $0 + $1.size } }

  func index(of place: Int) -> Int? { entries.firstIndex { $0.place == place } }

  var victim: Int? {
    let newcomers = entries.filter { !$0.isUsedAgain }
    let bytes = newcomers.reduce(0) { $0 + $1.size }
    let newcomersGo = tellsNewcomers && newcomers.count > 1 && bytes > usage / 10
    return (newcomersGo ? newcomers : entries).first?.place
  }

  /// All of them in the order in which they go.
  var victims: [Int] {
    var rest = self
    var victims: [Int] = []
    while let victim = rest.victim {
      victims.append(victim)
      rest.entries.removeAll { $0.place == victim }
    }
    return victims
  }

  mutating func move(_ index: Int, isUsedAgain: Bool) {
    var entry = entries.remove(at: index)
    if isUsedAgain { entry.isUsedAgain = true }
    entries.append(entry)
  }
}

@Suite struct EvictionOrderTests {
  @Test(arguments: EvictionRule.allCases, [1, 2, 3] as [UInt64])
  func `the order behaves like a list`(rule: EvictionRule, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var order = EvictionOrder(rule)
    var plain = PlainOrder(tellsNewcomers: rule == .scanResistant)
    for step in 0..<4_000 {
      change(&order, &plain, &random)
      // All of both orders is compared now and then: the list takes long for that.
      let agrees =
        step % 16 == 15 ? agree(order, plain) : order.victim(usage: plain.usage) == plain.victim
      guard agrees else {
        return #expect(Bool(false), "step \(step) of seed \(seed) differs")
      }
    }
  }

  private func change(
    _ order: inout EvictionOrder, _ plain: inout PlainOrder, _ random: inout SeededGenerator
  ) {
    let choice = Int.random(in: 0..<20, using: &random)
    guard choice >= 7, let entry = plain.entries.randomElement(using: &random),
      let index = plain.index(of: entry.place)
    else { return insert(into: &order, &plain, &random) }
    switch choice {
    case 7..<10:
      order.touch(entry.place, size: entry.size)
      plain.move(index, isUsedAgain: true)
    case 10..<12:
      order.spare(entry.place)
      plain.move(index, isUsedAgain: false)
    case 12..<14:
      let size = Int.random(in: 0..<100, using: &random)
      order.resize(entry.place, from: entry.size, to: size)
      plain.entries[index].size = size
    case 14..<18:
      order.remove(entry.place, size: entry.size)
      plain.entries.remove(at: index)
    default:
      guard let victim = order.victim(usage: plain.usage), victim == plain.victim,
        let index = plain.index(of: victim)
      else { return #expect(Bool(false), "another victim") }
      order.remove(victim, size: plain.entries[index].size)
      plain.entries.remove(at: index)
    }
  }

  private func insert(
    into order: inout EvictionOrder, _ plain: inout PlainOrder, _ random: inout SeededGenerator
  ) {
    let size = Int.random(in: 0..<100, using: &random)
    let (isNewest, isUsedAgain) = (
      Int.random(in: 0..<4, using: &random) > 0, Int.random(in: 0..<4, using: &random) == 0
    )
    let expected = order.nextPlace
    let place = order.insert(size: size, asNewest: isNewest, isUsedAgain: isUsedAgain)
    #expect(place == expected && plain.index(of: place) == nil)
    plain.entries.insert(
      PlainOrder.Entry(
        place: place, size: size, isUsedAgain: isUsedAgain || !plain.tellsNewcomers),
      at: isNewest ? plain.entries.count : 0)
  }

  private func agree(_ order: EvictionOrder, _ plain: PlainOrder) -> Bool {
    let sizes = Dictionary(uniqueKeysWithValues: plain.entries.map { ($0.place, $0.size) })
    return order.victim(usage: plain.usage) == plain.victim
      && Array(order.newestFirst) == plain.entries.reversed().map(\.place)
      && Array(order.victims(usage: plain.usage) { sizes[$0] ?? 0 }) == plain.victims
      && plain.entries.allSatisfy { order.isUsedAgain($0.place) == $0.isUsedAgain }
  }

  @Test func `an empty order has no victim`() {
    for rule in EvictionRule.allCases {
      let order = EvictionOrder(rule)
      #expect(order.victim(usage: 0) == nil)
      #expect(Array(order.victims(usage: 0) { _ in 0 }).isEmpty)
    }
  }

  @Test func `a rule can change while there are entries`() {
    var order = EvictionOrder()
    let old = (0..<3).map { _ in order.insert(size: 10) }
    order.follow(.scanResistant)
    #expect(old.allSatisfy { order.isUsedAgain($0) })
    let new = (0..<3).map { _ in order.insert(size: 10) }
    #expect(order.victim(usage: 60) == new[0])
    order.touch(new[0], size: 10)
    #expect(order.victim(usage: 60) == new[1])
    // The same rule once more forgets nothing.
    order.follow(.scanResistant)
    #expect(!order.isUsedAgain(new[1]))
    order.follow(.leastRecent)
    #expect(order.victim(usage: 60) == old[0])
    #expect(Array(order.newestFirst) == [new[0], new[2], new[1]] + old.reversed())
  }

  @Test func `the last newcomer stays, however large it is`() {
    var order = EvictionOrder(.scanResistant)
    let old = order.insert(size: 10, isUsedAgain: true)
    let large = order.insert(size: 90)
    #expect(order.victim(usage: 100) == old)
    let next = order.insert(size: 90)
    #expect(order.victim(usage: 190) == large)
    #expect(Array(order.victims(usage: 190) { $0 == old ? 10 : 90 }) == [large, old, next])
  }
}
