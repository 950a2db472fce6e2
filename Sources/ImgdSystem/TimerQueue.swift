/// Something that a loop does once, at a deadline.
package final class Timer {
  package let deadline: Instant
  fileprivate var sequence: UInt64 = 0
  fileprivate var place = Timer.nowhere
  private var action: (() -> Void)?
  // Never dangles: the loop calls `disown` on every timer in its queue before it goes.
  private unowned var loop: EventLoop?

  fileprivate static let nowhere = -1

  init(deadline: Instant, loop: EventLoop?, action: @escaping () -> Void) {
    self.deadline = deadline
    self.loop = loop
    self.action = action
  }

  /// Takes the timer back; one that has fired is not touched.
  package func cancel() {
    loop?.remove(self)
    loop = nil
    _ = action.take()
  }

  func fire() {
    loop = nil
    action.take()?()
  }

  /// Cuts the tie to a loop that no longer knows this timer.
  func disown() {
    loop = nil
  }

  fileprivate func precedes(_ other: Timer) -> Bool {
    deadline == other.deadline ? sequence < other.sequence : deadline < other.deadline
  }
}

/// Timers by deadline, and those of one deadline in the order they came, in a binary heap.
///
/// Each timer knows its place, so that taking one back costs O(log n).
struct TimerQueue {
  private var heap: [Timer] = []
  /// The number of the timer that came last.
  private(set) var newest: UInt64 = 0

  var earliest: Instant? { heap.first?.deadline }

  mutating func insert(_ timer: Timer) {
    newest += 1
    timer.sequence = newest
    timer.place = heap.count
    heap.append(timer)
    rise(from: timer.place)
  }

  mutating func remove(_ timer: Timer) {
    guard timer.place >= 0 else { return }
    take(at: timer.place)
  }

  /// Takes the first timer that is due and came no later than number `newest`.
  mutating func removeDue(at now: Instant, upTo newest: UInt64) -> Timer? {
    guard let first = heap.first, first.deadline <= now, first.sequence <= newest else {
      return nil
    }
    take(at: 0)
    return first
  }

  func forEach(_ body: (Timer) -> Void) {
    heap.forEach(body)
  }

  private mutating func take(at place: Int) {
    let last = heap.count - 1
    exchange(place, last)
    heap.removeLast().place = Timer.nowhere
    guard place < last else { return }
    rise(from: place)
    sink(from: place)
  }

  private mutating func rise(from start: Int) {
    var place = start
    while place > 0 {
      let parent = (place - 1) / 2
      guard heap[place].precedes(heap[parent]) else { return }
      exchange(place, parent)
      place = parent
    }
  }

  private mutating func sink(from start: Int) {
    var place = start
    while let child = earlierChild(of: place), heap[child].precedes(heap[place]) {
      exchange(place, child)
      place = child
    }
  }

  private func earlierChild(of place: Int) -> Int? {
    let left = 2 * place + 1
    guard left < heap.count else { return nil }
    let right = left + 1
    return right < heap.count && heap[right].precedes(heap[left]) ? right : left
  }

  private mutating func exchange(_ one: Int, _ other: Int) {
    guard one != other else { return }
    heap.swapAt(one, other)
    heap[one].place = one
    heap[other].place = other
  }
}
