import ImgdTestSupport
import Testing

@testable import ImgdDaemon

struct KeyedHeapTests {
  /// What a heap must answer, found by looking at everything.
  private static func smallest(_ keys: [Int: Int64]) -> Int? {
    keys.min { $0.value < $1.value }?.key
  }

  @Test(arguments: [4, 40, 400])
  func `the smallest key comes first, whatever is put in, moved and removed`(most: Int) {
    var random = SeededGenerator(seed: UInt64(most))
    var heap = KeyedHeap<Int>()
    var keys: [Int: Int64] = [:]
    for key in Int64(0)..<4_000 {
      let value = Int.random(in: 0..<most, using: &random)
      if Int.random(in: 0..<3, using: &random) == 0 {
        heap.remove(value)
        keys[value] = nil
      } else {
        // Every key is used once, so that there is one smallest; some rise, and others sink.
        let isSmall = Bool.random(using: &random)
        heap.insert(value, key: isSmall ? -key : key)
        keys[value] = isSmall ? -key : key
      }
      #expect(heap.count == keys.count)
      #expect(heap.first == Self.smallest(keys))
      #expect(heap.firstKey == heap.first.flatMap { keys[$0] })
      let odd = keys.filter { !$0.key.isMultiple(of: 2) }
      #expect(heap.first { !$0.isMultiple(of: 2) } == Self.smallest(odd))
    }
    while let value = heap.first {
      #expect(value == Self.smallest(keys))
      heap.remove(value)
      keys[value] = nil
    }
    #expect(keys.isEmpty)
  }
}
