/// A first-in, first-out queue: constant cost for each step, memory at most about twice its contents.
package struct Fifo<Element> {
  @usableFromInline package private(set) var items: [Element?] = []
  @usableFromInline package private(set) var head = 0

  // Inlined into other targets: otherwise each call would look up the type of the element at run time.
  @inlinable @inline(__always) package var count: Int { items.count - head }

  @inlinable @inline(__always) package var isEmpty: Bool { count == 0 }

  package init() {}

  /// The element `index` places after the first; nil beyond the last.
  @inline(__always) package subscript(index: Int) -> Element? { head + index < items.count ? items[head + index] : nil }

  /// The oldest element.
  package var first: Element? { self[0] }

  var last: Element? { items.last ?? nil }

  /// All elements, the oldest first.
  package var all: [Element] { items[head...].compactMap { $0 } }

  /// Adds an element at the end.
  package mutating func append(_ element: Element) { items.append(element) }

  /// Removes the oldest element; nil when there is none.
  package mutating func popFirst() -> Element? {
    guard head < items.count else { return nil }
    let first = items[head].take()
    head += 1
    // Moves at most as many elements as have been removed since the last time.
    if 2 * head >= items.count {
      items.removeFirst(head)
      head = 0
    }
    return first
  }
}

extension Fifo: Sendable where Element: Sendable {}
