import ImgdTestSupport
import Testing

@testable import ImgdCache

struct EvictionOrderTests {
  /// The same order in its simplest form, without regard to speed: the oldest use first.
  private typealias PlainOrder = [Int]

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `the order behaves like a list`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var order = EvictionOrder()
    var plain = PlainOrder()
    for step in 0..<4_000 {
      change(&order, &plain, &random)
      // All of both orders is compared now and then: the list takes long for that.
      let agrees = step % 16 == 15 ? agree(order, plain) : order.oldest == plain.first
      guard agrees else {
        return #expect(Bool(false), "step \(step) of seed \(seed) differs")
      }
    }
  }

  private func change(
    _ order: inout EvictionOrder, _ plain: inout PlainOrder, _ random: inout SeededGenerator
  ) {
    let choice = Int.random(in: 0..<20, using: &random)
    guard choice >= 7, let index = plain.indices.randomElement(using: &random) else {
      return insert(into: &order, &plain, &random)
    }
    switch choice {
    case 7..<14:
      let place = plain.remove(at: index)
      order.touch(place)
      plain.append(place)
    case 14..<18:
      order.remove(plain.remove(at: index))
    default:
      order.remove(plain.removeFirst())
    }
  }

  private func insert(
    into order: inout EvictionOrder, _ plain: inout PlainOrder, _ random: inout SeededGenerator
  ) {
    let isNewest = Int.random(in: 0..<4, using: &random) > 0
    let expected = order.nextPlace
    let place = order.insert(asNewest: isNewest)
    #expect(place == expected && !plain.contains(place))
    plain.insert(place, at: isNewest ? plain.count : 0)
  }

  private func agree(_ order: EvictionOrder, _ plain: PlainOrder) -> Bool {
    order.oldest == plain.first && Array(order.victims { _ in 0 }) == plain
      && Array(order.newestFirst) == plain.reversed()
  }

  /// The same in its simplest form: of each user the places and their costs, the oldest use first.
  @Test(arguments: [1, 2, 3, 66] as [UInt32])
  func `each user has an order, and who has most is the next`(users: UInt32) throws {
    var random = SeededGenerator(seed: UInt64(users))
    var order = EvictionOrder()
    var plain: [UInt32: [Int]] = [:]
    var (costs, owners): ([Int: Int], [Int: UInt32]) = ([:], [:])
    for step in 0..<3_000 {
      let owner = UInt32.random(in: 0..<users, using: &random)
      if Int.random(in: 0..<3, using: &random) > 0 {
        let cost = Int.random(in: 1..<1_000_000, using: &random)
        let place = order.insert(of: owner, costing: cost)
        (costs[place], owners[place]) = (cost, owner)
        plain[owner, default: []].append(place)
      } else if let place = plain[owner]?.randomElement(using: &random) {
        plain[owner]?.removeAll { $0 == place }
        switch step % 3 {
        case 0: order.remove(place, costing: costs[place] ?? 0)
        case 1:
          order.touch(place)
          plain[owner]?.append(place)
        default:
          let other = (owner + 1) % users
          order.assign(place, to: other, costing: costs[place] ?? 0)
          owners[place] = other
          plain[other, default: []].append(place)
        }
      }
      guard step % 64 == 63, users <= UInt32(Accounts.most) else { continue }
      let sums = plain.mapValues { $0.reduce(0) { $0 + (costs[$1] ?? 0) } }
      let fullest = sums.max { $0.value < $1.value }?.key
      #expect(order.oldest == fullest.flatMap { plain[$0]?.first })
      let half = sums.values.reduce(0, +) / 2
      var left = sums
      for place in order.victims(sharing: half, cost: { costs[$0] ?? 0 }).prefix(200) {
        let victim = try #require(owners[place])
        #expect(users == 1 || (left[victim] ?? 0) == left.values.max())
        #expect(users == 1 || (left[victim] ?? 0) > half / sums.count { $0.value > 0 })
        left[victim, default: 0] -= costs[place] ?? 0
      }
    }
    #expect(Set(order.newestFirst).count == plain.values.reduce(0) { $0 + $1.count })
    #expect(order.accounts.users == min(plain.count { !$0.value.isEmpty }, Accounts.most + 1))
  }

  @Test func `an empty order has no victim`() {
    let order = EvictionOrder()
    #expect(order.oldest == nil && Array(order.victims { _ in 0 }).isEmpty)
  }
}
