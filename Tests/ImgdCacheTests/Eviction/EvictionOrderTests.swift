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
    order.oldest == plain.first && Array(order.oldestFirst) == plain
      && Array(order.newestFirst) == plain.reversed()
  }

  @Test func `an empty order has no victim`() {
    let order = EvictionOrder()
    #expect(order.oldest == nil && Array(order.oldestFirst).isEmpty)
  }
}
