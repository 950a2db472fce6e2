import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// The tier in its simplest form, without regard to speed: an array, oldest use first.
private struct PlainTier {
  var entries: [(key: CacheKey, serial: UInt64, cost: Int)] = []
  let limits: MemoryTier.Limits

  var usage: Int { entries.reduce(0) { $0 + $1.cost } }

  mutating func add(_ image: CachedImage) -> Bool {
    guard image.cost <= limits.maxEntry, image.cost <= limits.preferred else { return false }
    if let place = entries.firstIndex(where: { $0.key == image.key }) {
      guard image.serial >= entries[place].serial else { return false }
      entries.remove(at: place)
    }
    entries.append((image.key, image.serial, image.cost))
    guard usage > limits.capacity else { return true }
    while usage > limits.preferred { entries.removeFirst() }
    return true
  }

  mutating func use(_ key: CacheKey) -> Bool {
    guard let place = entries.firstIndex(where: { $0.key == key }) else { return false }
    entries.append(entries.remove(at: place))
    return true
  }

  mutating func remove(_ key: CacheKey) -> Bool {
    guard let place = entries.firstIndex(where: { $0.key == key }) else { return false }
    entries.remove(at: place)
    return true
  }

  mutating func purge(_ url: CanonicalURL) -> Int {
    let before = entries.count
    entries.removeAll { $0.key.url == url }
    return before - entries.count
  }
}

/// The memory tier compared with a plain model.
struct MemoryTierModelTests {
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `the memory tier behaves like a plain model in random sequences`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limits = MemoryTier.Limits(capacity: 60_000, preferred: 40_000, maxEntry: 20_000)
    let tier = MemoryTier(limits: limits)
    var plain = PlainTier(limits: limits)
    for step in 0..<5_000 {
      let url = "http://h/\(Int.random(in: 0..<40, using: &random))"
      let key = key(url, Bool.random(using: &random) ? nil : "x")
      let agrees =
        switch Int.random(in: 0..<20, using: &random) {
        case 0: (tier.remove(key) != nil) == plain.remove(key)
        case 1: purge(tier, key.url) == plain.purge(key.url)
        case 2..<10: (tier.image(for: key, at: at(0)) != nil) == plain.use(key)
        default: add(to: tier, and: &plain, key, &random)
        }
      if !agrees || tier.usage != plain.usage || tier.count != plain.entries.count {
        return #expect(Bool(false), "step \(step) of seed \(seed) differs")
      }
    }
    for entry in plain.entries { #expect(tier.peek(entry.key) != nil) }
    #expect(tier.counts.evictions > 100)
    expectSound(tier)
  }

  private func purge(_ tier: MemoryTier, _ url: CanonicalURL) -> Int {
    var filter = PurgeFilter()
    filter.url = url
    return tier.purge(filter, at: at(0)).entries
  }

  private func add(
    to tier: MemoryTier, and plain: inout PlainTier, _ key: CacheKey,
    _ random: inout SeededGenerator
  ) -> Bool {
    let image = image(
      key, bytes: Int.random(in: 0..<25_000, using: &random),
      serial: UInt64.random(in: 0..<3, using: &random))
    return tier.add(image, at: at(0)).isStored == plain.add(image)
  }
}

struct PlaceTableTests {
  @Test(arguments: [0, 8, 20, 28] as [UInt32])
  func `the place table finds the inserted and not removed keys, even when tags collide`(
    lostBits: UInt32
  ) {
    var random = SeededGenerator(seed: UInt64(lostBits))
    var table = PlaceTable()
    var tags: [Int: UInt32] = [:]
    for step in 0..<6_000 {
      let place = Int.random(in: 0..<200, using: &random)
      if let tag = tags.removeValue(forKey: place) {
        table.remove(tag, place)
      } else {
        // Few tags, and at both ends of the table, where clusters run over the edge.
        let tag = UInt32.random(in: .min ... .max, using: &random) & (UInt32.max << lostBits)
        tags[place] = step.isMultiple(of: 2) ? tag : ~tag
        table.insert(tags[place] ?? 0, place)
      }
      guard step.isMultiple(of: 50) else { continue }
      for place in 0..<200 {
        let found = table.place(tags[place] ?? 0) { $0 == place }
        #expect((found == place) == (tags[place] != nil))
      }
    }
  }
}
