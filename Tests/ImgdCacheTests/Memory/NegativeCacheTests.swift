import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

/// Failures that are remembered.
@Suite struct NegativeCacheTests {
  private func key(_ number: Int) -> CacheKey { ImgdCacheTests.key("http://h/\(number)") }

  private func filter(_ change: (inout PurgeFilter) -> Void) -> PurgeFilter {
    var filter = PurgeFilter()
    change(&filter)
    return filter
  }

  @Test func `a failure is found until its end, with its age`() {
    var cache = NegativeCache<Int>()
    cache.note(404, for: key(1), lasting: .seconds(10), at: at(100))
    let found = cache.find(key(1), at: at(103))
    #expect(found?.value == 404)
    #expect(found?.age == .seconds(3) && found?.remaining == .seconds(7))
    #expect(cache.find(key(2), at: at(103)) == nil)
    #expect(cache.find(key(1), at: at(99))?.age == .zero)
    #expect(cache.count == 1)
    #expect(cache.find(key(1), at: at(110)) == nil)
    #expect(cache.count == 0, "an expired failure is removed when it is found")
  }

  @Test func `a failure is removed without a trace`() {
    var cache = NegativeCache<Int>(capacity: 2)
    for number in 0..<100 {
      cache.note(404, for: key(number), lasting: .seconds(10), at: at(0))
      cache.forget(key(number))
      cache.forget(key(number + 1))
    }
    #expect(cache.count == 0)
    for number in 0..<2 { cache.note(404, for: key(number), lasting: .seconds(10), at: at(0)) }
    #expect((0..<2).allSatisfy { cache.find(key($0), at: at(1)) != nil })
  }

  @Test func `a failure is replaced, and removed by one without a lifetime`() {
    var cache = NegativeCache<Int>()
    cache.note(404, for: key(1), lasting: .seconds(10), at: at(0))
    cache.note(410, for: key(1), lasting: .seconds(20), at: at(5))
    #expect(cache.find(key(1), at: at(15))?.value == 410)
    #expect(cache.count == 1)
    cache.note(404, for: key(1), lasting: .zero, at: at(6))
    #expect(cache.count == 0)
    cache.note(404, for: key(1), lasting: .seconds(-5), at: at(6))
    #expect(cache.count == 0)
  }

  @Test func `the oldest failures are removed first when there is no space`() {
    var cache = NegativeCache<Int>(capacity: 3)
    for number in 1...3 { cache.note(number, for: key(number), lasting: .seconds(99), at: at(0)) }
    cache.note(11, for: key(1), lasting: .seconds(99), at: at(1))
    cache.note(4, for: key(4), lasting: .seconds(99), at: at(2))
    #expect(cache.count == 3)
    #expect(cache.find(key(2), at: at(2)) == nil, "the first noted, since 1 was noted again")
    #expect(cache.find(key(1), at: at(2))?.value == 11)
    cache.note(5, for: key(5), lasting: .seconds(99), at: at(2))
    #expect(cache.find(key(3), at: at(2)) == nil)
  }

  @Test func `the order of failures is kept through any number of insertions, expiries and purges`()
  {
    var cache = NegativeCache<Int>(capacity: 8)
    var model: [(number: Int, value: Int, end: Int64)] = []
    var generator = SeededGenerator(seed: 9)
    for step in 0..<5_000 {
      let now = Int64(step / 4)
      let number = Int.random(in: 0..<20, using: &generator)
      switch Int.random(in: 0..<10, using: &generator) {
      case 0:
        cache.remove(where: filter { $0.url = key(number).url }, at: at(now))
        model.removeAll { $0.number == number }
      case 1..<5:
        let lasting = Int64.random(in: 1...20, using: &generator)
        cache.note(step, for: key(number), lasting: .seconds(lasting), at: at(now))
        model.removeAll { $0.number == number }
        if model.count == 8 { model.removeFirst() }
        model.append((number, step, now + lasting))
      default:
        model.removeAll { $0.number == number && $0.end <= now }
        let value = model.first { $0.number == number }?.value
        #expect(cache.find(key(number), at: at(now))?.value == value)
      }
      #expect(cache.count == model.count)
    }
  }

  @Test func `a purge removes the failures that it matches`() {
    var full = NegativeCache<Int>()
    for number in 1...4 {
      full.note(number, for: key(number), lasting: .seconds(99), at: at(Int64(number)))
    }
    full.note(5, for: ImgdCacheTests.key("http://other/1", "x"), lasting: .seconds(99), at: at(5))
    let cases: [(PurgeFilter, Int)] = [
      (PurgeFilter(), 5), (filter { $0.host = "h" }, 4), (filter { $0.url = key(3).url }, 1),
      (filter { $0.prefix = "http://h/" }, 4), (filter { $0.identifier = "x" }, 1),
      (filter { $0.tag = "t" }, 0), (filter { $0.olderThan = .seconds(7) }, 2),
      (filter { ($0.olderThan, $0.host) = (.seconds(5), "other") }, 0),
      (filter { $0.unusedFor = .zero }, 0), (filter { $0.expired = true }, 0),
    ]
    for (filter, count) in cases {
      var cache = full
      cache.remove(where: filter, at: at(10))
      #expect(found(in: &cache, at: 10) == 5 - count)
      cache.note(9, for: key(1), lasting: .seconds(99), at: at(10))
      #expect(cache.find(key(1), at: at(10))?.value == 9, "it was noted after the purge")
    }
    var cache = full
    cache.remove(where: filter { $0.expired = true }, at: at(101))
    #expect(found(in: &cache, at: 101) == 3)
  }

  /// How many of the failures above are found.
  private func found(in cache: inout NegativeCache<Int>, at seconds: Int64) -> Int {
    let keys = (1...4).map { key($0) } + [ImgdCacheTests.key("http://other/1", "x")]
    return keys.count { cache.find($0, at: at(seconds)) != nil }
  }

  @Test func `purges are held until their failures have gone, and only so many of them`() {
    var cache = NegativeCache<Int>(capacity: 4)
    func host(_ number: Int) -> PurgeFilter { filter { $0.host = "host\(number)" } }
    cache.note(404, for: key(1), lasting: .seconds(99), at: at(0))
    for _ in 0..<100 { cache.remove(where: host(1), at: at(1)) }
    for number in 2...8 { cache.remove(where: host(number), at: at(1)) }
    #expect(cache.find(key(1), at: at(1)) != nil, "eight that are about others")
    // Four more take the place of all that the purges could be about.
    for number in 2...5 { cache.note(404, for: key(number), lasting: .seconds(99), at: at(2)) }
    for number in 11...18 { cache.remove(where: host(number), at: at(3)) }
    #expect(cache.find(key(2), at: at(3)) != nil)
    cache.remove(where: host(19), at: at(3))
    #expect(cache.count == 0, "one more than are compared with")
  }

  @Test func `a purge of a URL with many identifiers is carried out as they are met`() {
    var cache = NegativeCache<Int>()
    let keys = (0..<100).map { ImgdCacheTests.key("http://h/1", "\($0)") }
    for key in keys + [key(2)] { cache.note(404, for: key, lasting: .seconds(99), at: at(0)) }
    cache.remove(where: filter { $0.url = key(1).url }, at: at(1))
    #expect(keys.allSatisfy { cache.find($0, at: at(1)) == nil })
    #expect(cache.count == 1 && cache.find(key(2), at: at(1)) != nil)
  }

  @Test func `failures are bounded by their bytes, the first noted the first to go`() {
    let each = NegativeCache<Int>.bookkeeping + key(1).cost + 1_000
    var cache = NegativeCache<Int>(mostBytes: 3 * each)
    for number in 1...4 {
      cache.note(number, size: 1_000, for: key(number), lasting: .seconds(99), at: at(0))
      #expect(cache.bytes == min(number, 3) * each)
    }
    #expect(cache.find(key(1), at: at(1)) == nil && cache.find(key(4), at: at(1)) != nil)
    cache.note(5, size: 2_000, for: key(4), lasting: .seconds(99), at: at(0))
    #expect(cache.count == 2 && cache.bytes == 2 * each + 1_000)
    cache.note(6, size: 9_000, for: key(6), lasting: .seconds(99), at: at(0))
    #expect(cache.count == 2, "what has no room removes nothing")
    cache.forget(key(4))
    #expect(cache.count == 1 && cache.bytes == each)
    cache.removeAll()
    #expect(cache.count == 0 && cache.bytes == 0)
  }

  @Test func `a purge of a URL removes the failures of all its identifiers and users`() {
    var cache = NegativeCache<Int>()
    let url = key(1).url
    let keys = [
      key(1), ImgdCacheTests.key("http://h/1", "x"), ImgdCacheTests.key("http://h/1", "y"),
      CacheKey(url: url, identifier: "x", variant: KeyVariant(high: 0, low: 7)), key(2),
    ]
    for key in keys { cache.note(404, for: key, lasting: .seconds(99), at: at(0)) }
    cache.forget(keys[2])
    cache.remove(where: filter { ($0.url, $0.identifier) = (url, "x") }, at: at(1))
    #expect(cache.count == 2)
    cache.remove(where: filter { $0.url = url }, at: at(1))
    #expect(cache.count == 1 && cache.find(key(2), at: at(1)) != nil)
  }
}
