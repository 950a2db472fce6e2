import ImgdTestSupport
import Testing

@testable import ImgdDaemon

struct KeyedHeapTests {
  private final class Item: HeapMember {
    let name: Int
    var places = HeapPlaces(repeating: 0)

    init(_ name: Int) { self.name = name }
  }

  /// What a heap must answer, found by looking at everything.
  private static func smallest(_ keys: [Int: Int64]) -> Int? {
    keys.min { $0.value < $1.value }?.key
  }

  @Test(arguments: [4, 40, 400])
  func `the smallest key comes first, whatever is put in, moved and removed`(most: Int) {
    var random = SeededGenerator(seed: UInt64(most))
    let items = (0..<most).map(Item.init)
    var heap = KeyedHeap<Item>(0)
    // Where an item stands in another heap makes no difference.
    var other = KeyedHeap<Item>(1)
    for item in items { other.insert(item, key: Int64(item.name)) }
    var keys: [Int: Int64] = [:]
    for key in Int64(0)..<4_000 {
      let value = Int.random(in: 0..<most, using: &random)
      if Int.random(in: 0..<3, using: &random) == 0 {
        heap.remove(items[value])
        keys[value] = nil
      } else {
        // Every key is used once, so that there is one smallest; some rise, and others sink.
        let isSmall = Bool.random(using: &random)
        heap.insert(items[value], key: isSmall ? -key : key)
        keys[value] = isSmall ? -key : key
      }
      #expect(heap.count == keys.count)
      #expect(heap.first?.name == Self.smallest(keys))
      #expect(heap.firstKey == heap.first.flatMap { keys[$0.name] })
      let odd = keys.filter { !$0.key.isMultiple(of: 2) }
      #expect(heap.first { !$0.name.isMultiple(of: 2) }?.name == Self.smallest(odd))
    }
    while let item = heap.first {
      #expect(item.name == Self.smallest(keys))
      heap.remove(item)
      keys[item.name] = nil
    }
    #expect(keys.isEmpty)
    #expect(other.count == most)
  }

  @Test func `the room of many that have gone is given back`() {
    var heap = KeyedHeap<Item>(0)
    let items = (0..<10_000).map(Item.init)
    for item in items { heap.insert(item, key: Int64(item.name)) }
    for item in items { heap.remove(item) }
    #expect(heap.isEmpty && heap.entries.capacity < 1_000)
  }
}
