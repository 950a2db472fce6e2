import Testing

@testable import ImgdSystem

struct FifoTests {
  @Test func `a fifo returns its elements in order`() {
    var fifo = Fifo<Int>()
    var (next, expected) = (0, 0)
    for round in 1...60 {
      for _ in 0..<(round * 7 % 11) {
        fifo.append(next)
        next += 1
      }
      for _ in 0..<(round * 5 % 9) {
        let first = fifo[0]
        guard let popped = fifo.popFirst() else { break }
        #expect(popped == expected && first == expected)
        expected += 1
      }
      #expect(fifo.count == next - expected)
      for index in 0..<fifo.count { #expect(fifo[index] == expected + index) }
      #expect(fifo[fifo.count] == nil)
      #expect(fifo.last == (fifo.count > 0 ? next - 1 : nil))
    }
  }

  @Test func `a fifo frees an element when it is removed`() {
    final class Element {}
    var fifo = Fifo<Element>()
    weak var first: Element?
    do {
      let element = Element()
      first = element
      fifo.append(element)
      fifo.append(Element())
      fifo.append(Element())
    }
    _ = fifo.popFirst()
    #expect(first == nil)
    #expect(fifo.count == 2)
  }

  @Test func `a new fifo is empty`() {
    var fifo = Fifo<Int>()
    #expect(fifo.popFirst() == nil)
    #expect(fifo[0] == nil)
    #expect(fifo.last == nil)
    #expect(fifo.count == 0)
  }

  @Test func `the room of many that have gone is given back`() {
    var fifo = Fifo<Int>()
    for number in 0..<10_000 { fifo.append(number) }
    for number in 0..<10_000 { #expect(fifo.popFirst() == number) }
    #expect(fifo.items.capacity < 1_000)
  }
}
