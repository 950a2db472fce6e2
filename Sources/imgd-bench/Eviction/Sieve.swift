/// SIEVE (Zhang and others, NSDI 2024): a queue and a hand that passes over what was asked for again,
/// once for each time that it comes by.
struct Sieve: SimulatedCache {
  private let capacity: Int
  private var queue = KeyQueue()
  private var visited: Set<Int32> = []
  private var hand: Int32?

  init(capacity: Int) {
    self.capacity = capacity
  }

  mutating func ask(_ key: Int32, size: Int) -> Bool {
    if queue.contains(key) {
      visited.insert(key)
      return true
    }
    guard size <= capacity else { return false }
    while queue.bytes + size > capacity { evict() }
    queue.append(key, size: size)
    return false
  }

  private mutating func evict() {
    var candidate = hand ?? queue.oldest
    while let key = candidate, visited.remove(key) != nil {
      candidate = queue.next(after: key) ?? queue.oldest
    }
    guard let key = candidate else { return }
    hand = queue.next(after: key)
    queue.remove(key)
  }
}
