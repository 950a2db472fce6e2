/// S3-FIFO (Yang and others, SOSP 2023): a small queue for what is new, a main one for what was asked
/// for again, and the names of what has left the small one.
struct S3FIFO: SimulatedCache {
  private let capacity: Int
  private var small = KeyQueue()
  private var main = KeyQueue()
  private var ghosts = KeyQueue()
  /// How often a key was asked for again; more than three times count as three.
  private var uses: [Int32: Int] = [:]

  init(capacity: Int) {
    self.capacity = capacity
  }

  mutating func ask(_ key: Int32, size: Int) -> Bool {
    if small.contains(key) || main.contains(key) {
      uses[key] = min((uses[key] ?? 0) + 1, 3)
      return true
    }
    guard size <= capacity else { return false }
    let isGhost = ghosts.contains(key)
    while small.bytes + main.bytes + size > capacity { evict() }
    if isGhost {
      ghosts.remove(key)
      main.append(key, size: size)
    } else {
      small.append(key, size: size)
    }
    return false
  }

  private mutating func evict() {
    if small.bytes > capacity / 10 || main.oldest == nil { evictSmall() } else { evictMain() }
  }

  private mutating func evictSmall() {
    guard let key = small.oldest else { return }
    let size = small.remove(key)
    guard uses.removeValue(forKey: key) ?? 0 < 2 else { return main.append(key, size: size) }
    ghosts.append(key, size: size)
    while ghosts.bytes > capacity / 10 * 9, let oldest = ghosts.oldest { ghosts.remove(oldest) }
  }

  private mutating func evictMain() {
    guard let key = main.oldest else { return }
    let size = main.remove(key)
    guard let count = uses[key], count > 0 else { return uses[key] = nil }
    uses[key] = count - 1
    main.append(key, size: size)
  }
}
