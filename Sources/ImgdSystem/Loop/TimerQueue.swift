/// An action that a loop runs once, at a deadline.
package final class Timer {
  package let deadline: Instant
  fileprivate var sequence: UInt64 = 0
  fileprivate var place = Timer.nowhere
  private var action: (() -> Void)?
  // Never dangles: the loop calls `disown` on every timer in its queue in its deinit.
  private var loop: Unowned<EventLoop>?

  fileprivate static let nowhere = -1

  init(deadline: Instant, loop: EventLoop?, action: @escaping () -> Void) {
    self.deadline = deadline
    self.loop = loop.map { Unowned($0) }
    self.action = action
  }

  /// Removes the timer; no effect once it has fired.
  package func cancel() {
    loop?.object.remove(self)
    loop = nil
    _ = action.take()
  }

  func fire() {
    loop = nil
    action.take()?()
  }

  /// Clears the reference to a loop that no longer has this timer.
  func disown() { loop = nil }

  fileprivate func precedes(_ other: Timer) -> Bool {
    deadline == other.deadline ? sequence < other.sequence : deadline < other.deadline
  }
}

/// A binary heap of timers by deadline, then by order of arrival.
///
/// Each timer knows its place, so removing one costs O(log n).
struct TimerQueue {
  private var heap: [Timer] = []
  /// The sequence number of the latest timer.
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
    removeTimer(at: timer.place)
  }

  /// Removes the first timer if it is due and its sequence number is at most `newest`.
  mutating func removeDue(at now: Instant, upTo newest: UInt64) -> Timer? {
    guard let first = heap.first, first.deadline <= now, first.sequence <= newest else { return nil }
    removeTimer(at: 0)
    return first
  }

  func forEach(_ body: (Timer) -> Void) { heap.forEach(body) }

  private mutating func removeTimer(at place: Int) {
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
