/// First in, first out, at constant cost a step, and no larger than about twice what waits in it.
package struct Fifo<Element> {
  private var items: [Element?] = []
  private var head = 0

  package var count: Int { items.count - head }

  package var isEmpty: Bool { count == 0 }

  package init() {}

  /// The element that waits `index` places behind the first; nil beyond the last.
  subscript(index: Int) -> Element? {
    head + index < items.count ? items[head + index] : nil
  }

  /// The element that came last.
  var last: Element? { items.last ?? nil }

  /// Puts an element behind all others.
  package mutating func append(_ element: Element) {
    items.append(element)
  }

  /// Takes out the oldest element; nil when there is none.
  package mutating func popFirst() -> Element? {
    guard head < items.count else { return nil }
    let first = items[head].take()
    head += 1
    // What moves here is at most what has left since the last time.
    if 2 * head >= items.count {
      items.removeFirst(head)
      head = 0
    }
    return first
  }
}

extension Fifo: Sendable where Element: Sendable {}
