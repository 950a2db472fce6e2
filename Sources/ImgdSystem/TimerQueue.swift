/// Something that a loop does once, at a deadline.
package final class Timer {
  package let deadline: Instant
  fileprivate var place = Timer.nowhere
  private var action: (() -> Void)?
  private weak var loop: EventLoop?

  fileprivate static let nowhere = -1

  init(deadline: Instant, loop: EventLoop?, action: @escaping () -> Void) {
    self.deadline = deadline
    self.loop = loop
    self.action = action
  }

  /// Takes the timer back; one that has fired is not touched.
  package func cancel() {
    loop?.remove(self)
    action = nil
  }

  func fire() {
    let action = self.action
    self.action = nil
    action?()
  }
}

/// Deadlines in a binary heap; each timer knows its place, so that taking one back costs O(log n).
struct TimerQueue {
  private var heap: [Timer] = []

  var earliest: Instant? { heap.first?.deadline }

  mutating func insert(_ timer: Timer) {
    heap.append(timer)
    timer.place = heap.count - 1
    rise(from: heap.count - 1)
  }

  mutating func remove(_ timer: Timer) {
    guard timer.place >= 0 else { return }
    take(at: timer.place)
  }

  mutating func removeDue(at now: Instant) -> Timer? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    take(at: 0)
    return first
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
      guard heap[place].deadline < heap[parent].deadline else { return }
      exchange(place, parent)
      place = parent
    }
  }

  private mutating func sink(from start: Int) {
    var place = start
    while let child = earlierChild(of: place), heap[child].deadline < heap[place].deadline {
      exchange(place, child)
      place = child
    }
  }

  private func earlierChild(of place: Int) -> Int? {
    let left = 2 * place + 1
    guard left < heap.count else { return nil }
    let right = left + 1
    return right < heap.count && heap[right].deadline < heap[left].deadline ? right : left
  }

  private mutating func exchange(_ one: Int, _ other: Int) {
    guard one != other else { return }
    heap.swapAt(one, other)
    heap[one].place = one
    heap[other].place = other
  }
}
