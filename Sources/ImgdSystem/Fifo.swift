/// A first-in, first-out queue: constant cost for each step, memory at most about twice its contents.
///
/// It is public, as far as it is used all the time, since only that is compiled in the targets that use it: otherwise each
/// call would look up the type of the element at run time.
public struct Fifo<Element> {
  @usableFromInline var items: [Element?] = []
  @usableFromInline var head = 0

  @inlinable public var count: Int { items.count - head }

  @inlinable public var isEmpty: Bool { count == 0 }

  @inlinable public init() {}

  /// The element `index` places after the first; nil beyond the last.
  @inlinable public subscript(index: Int) -> Element? {
    head + index < items.count ? items[head + index] : nil
  }

  /// The oldest element.
  @inlinable public var first: Element? { self[0] }

  var last: Element? { items.last ?? nil }

  /// All elements, the oldest first.
  package var all: [Element] { items[head...].compactMap { $0 } }

  /// Adds an element at the end.
  @inlinable public mutating func append(_ element: Element) { items.append(element) }

  /// Removes the oldest element; nil when there is none.
  @inlinable public mutating func popFirst() -> Element? {
    guard head < items.count else { return nil }
    let first = items[head].take()
    head += 1
    // Moves at most as many elements as have been removed since the last time.
    if 2 * head >= items.count {
      // The room of many that have gone is given back.
      if head > 512 { items = Array(items[head...]) } else { items.removeFirst(head) }
      head = 0
    }
    return first
  }
}

extension Fifo: Sendable where Element: Sendable {}
