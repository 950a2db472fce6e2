import ImgdCache

/// A cache that holds keys instead of pictures.
protocol SimulatedCache {
  /// Asks for a key, which is there afterwards; answers whether it was there before.
  mutating func ask(_ key: Int32, size: Int) -> Bool
}

/// The daemon's own order, and its purge from the capacity to the preferred amount.
struct PurgedCache: SimulatedCache {
  private let capacity: Int
  private let preferred: Int
  private var order: EvictionOrder
  private var usage = 0
  /// The place of each key, and the key and the size at each place.
  private var places: [Int32: Int] = [:]
  private var held: [(key: Int32, size: Int)] = []

  init(_ rule: EvictionRule, capacity: Int, preferredPercent: Int) {
    self.capacity = capacity
    preferred = capacity / 100 * preferredPercent + capacity % 100 * preferredPercent / 100
    order = EvictionOrder(rule)
  }

  mutating func ask(_ key: Int32, size: Int) -> Bool {
    if let place = places[key] {
      order.touch(place, size: size)
      return true
    }
    guard size <= preferred else { return false }
    let place = order.insert(size: size)
    if place == held.count { held.append((key, size)) } else { held[place] = (key, size) }
    places[key] = place
    usage += size
    if usage > capacity { makeRoom() }
    return false
  }

  private mutating func makeRoom() {
    while usage > preferred, let place = order.victim(usage: usage) {
      let (key, size) = held[place]
      order.remove(place, size: size)
      places[key] = nil
      usage -= size
    }
  }
}
