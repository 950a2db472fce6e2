internal import CLinux

/// A moment on the monotonic clock.
package struct Instant: Comparable, Hashable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The time now; inside a loop use `EventLoop.now`, which is read once a tick.
  package static var current: Instant { Instant(nanoseconds: linux_monotonic_ns()) }

  package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  package static func + (left: Instant, right: Duration) -> Instant {
    Instant(nanoseconds: left.nanoseconds.addingSaturated(right.nanoseconds))
  }

  package static func - (left: Instant, right: Instant) -> Duration { .nanoseconds(left.nanoseconds(since: right)) }

  /// Nanoseconds since `start`, clamped to the range.
  func nanoseconds(since start: Instant) -> Int64 {
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(start.nanoseconds)
    guard overflow else { return difference }
    return start.nanoseconds < 0 ? .max : .min
  }
}

/// The clock of a loop: the system's, or one that a test sets.
package final class LoopClock {
  /// The system's monotonic clock.
  package static var monotonic: LoopClock { LoopClock() }

  private var manual: Instant?
  /// How far a manual clock moves whenever it is read, so that all work takes time.
  package var stride = Duration.zero

  private init(manual: Instant? = nil) { self.manual = manual }

  /// A clock that stands still until it is advanced.
  package static func manual(at start: Instant = Instant(nanoseconds: 0)) -> LoopClock { LoopClock(manual: start) }

  package var now: Instant {
    guard let manual else { return .current }
    if stride > .zero { self.manual = manual + stride }
    return manual
  }

  /// Moves a manual clock; no effect on the system's clock.
  package func advance(by step: Duration) { manual = manual.map { $0 + step } }
}

/// The wall clock, for people and HTTP.
package enum WallClock {
  /// Nanoseconds since 1970.
  package static var nanoseconds: Int64 { linux_realtime_ns() }

  /// Whole seconds since 1970.
  package static var seconds: Int64 { nanoseconds / 1_000_000_000 }
}

extension Duration {
  /// The duration in nanoseconds, clamped to the range.
  package var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    return whole.addingSaturated(attoseconds / 1_000_000_000)
  }

  /// The duration in milliseconds, rounded towards zero.
  package var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

extension Int64 {
  fileprivate func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other < 0 ? .min : .max
  }
}

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

  func disown() { loop = nil }

  fileprivate func precedes(_ other: Timer) -> Bool {
    deadline == other.deadline ? sequence < other.sequence : deadline < other.deadline
  }
}

/// A binary heap of timers by deadline, then by order of arrival. A timer knows its place: removing it is O(log n).
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
