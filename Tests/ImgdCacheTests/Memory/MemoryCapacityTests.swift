import ImgdSystem
import Testing

@testable import ImgdCache

/// Expects a tier's figures to be right after every step, counted afresh.
func expectSound(_ tier: MemoryTier, sourceLocation: SourceLocation = #_sourceLocation) {
  let images = tier.images.places.compactMap { tier.images[$0].image }
  let found = images.filter { tier.peek($0.key) === $0 }.count
  #expect(images.count == tier.count, sourceLocation: sourceLocation)
  #expect(found == tier.count, "every image is found", sourceLocation: sourceLocation)
  #expect(
    images.reduce(0) { $0 + $1.cost } == tier.usage, "usage is the sum of the costs",
    sourceLocation: sourceLocation)
  #expect(tier.usage <= tier.limits.capacity, sourceLocation: sourceLocation)
  let misplaced = tier.images.places.filter {
    tier.images[$0].image.map(\.place) ?? $0 != $0
  }
  #expect(misplaced.isEmpty, "every image knows its place", sourceLocation: sourceLocation)
}

struct MemoryCapacityTests {
  private let cost = image("http://h/0").cost

  @Test func `an image is found only by its URL, identifier and scope`() {
    let tier = MemoryTier.holding(100_000)
    let scope = CredentialScope(uid: 1, credentials: [("cookie", "a")])
    let keys = [
      key("http://h/a"), key("http://h/a", "x"), key("http://h/a", nil, scope),
      key("http://h/a", "x", scope), key("http://h/ax"), key("http://h/a", "y"),
    ]
    let images = keys.map { image($0) }
    for image in images { #expect(tier.add(image, at: at(0)).isStored) }
    for (key, image) in zip(keys, images) { #expect(tier.image(for: key, at: at(1)) === image) }
    #expect(tier.image(for: key("http://h/b"), at: at(1)) == nil)
    #expect(tier.count == 6)
    #expect((tier.counts.hits, tier.counts.misses, tier.counts.insertions) == (6, 1, 6))
    expectSound(tier)
  }

  @Test func `looks can be prepared for whatever is there`() {
    // The preparation reads references as addresses.
    #expect(MemoryLayout<ImageTable.Entry>.offset(of: \.image) == 0)
    let tier = MemoryTier.holding(100_000)
    let urls = (0..<20).map { "http://h/\($0)" }
    for url in urls.dropLast(5) { _ = tier.add(image(url), at: at(0)) }
    _ = tier.remove(key(urls[3]))
    let tags = urls.map { tier.tag(ofPlain: $0.utf8.span) }
    tier.prefetch(tags.span)
    for (url, tag) in zip(urls, tags) {
      let found = tier.peekReady(url.utf8.span, tag: tag, at: at(0))
      #expect(found === tier.peek(key(url)) && (found == nil) == (url == urls[3] || urls[15...].contains(url)))
    }
    expectSound(tier)
  }

  @Test func `an empty identifier finds the image without one`() {
    let tier = MemoryTier.holding(100_000)
    let image = image("http://h/a")
    _ = tier.add(image, at: at(0))
    #expect(tier.readyImage(for: "http://h/a", identifier: "", at: at(0)) === image)
    #expect(tier.readyImage(for: "http://h/a", identifier: "x", at: at(0)) == nil)
  }

  @Test
  func `an image is ready while it is fresh, even if it varies on a header that was not sent`() {
    let tier = MemoryTier.holding(100_000)
    _ = tier.add(image(key("http://h/a"), headers: [("cache-control", "max-age=10")]), at: at(0))
    _ = tier.add(image(key("http://h/b"), headers: [("vary", "accept")]), at: at(0))
    _ = tier.add(image(key("http://h/c"), headers: [("cache-control", "no-cache")]), at: at(0))
    #expect(tier.readyImage(for: "http://h/a", identifier: nil, at: at(9)) != nil)
    #expect(tier.readyImage(for: "http://h/a", identifier: nil, at: at(10)) == nil)
    #expect(tier.readyImage(for: "http://h/b", identifier: nil, at: at(0)) != nil)
    #expect(tier.readyImage(for: "http://h/c", identifier: nil, at: at(0)) == nil)
    // Counted when they are shown.
    #expect((tier.counts.hits, tier.counts.misses) == (0, 0))
  }

  @Test
  func `the tier keeps everything up to its capacity, and trims to the preferred amount above it`() {
    let tier = MemoryTier.holding(10 * cost, preferred: 6 * cost)
    for number in 0..<10 { _ = tier.add(image("http://h/\(number)"), at: at(0)) }
    #expect(tier.count == 10)
    #expect(tier.usage == 10 * cost)
    let answer = tier.add(image("http://h/x"), at: at(1))
    #expect(tier.count == 6)
    #expect(tier.usage == 6 * cost)
    guard case .stored(let evicted) = answer else { return #expect(answer.isStored) }
    #expect((evicted.entries, evicted.bytes) == (5, 5 * cost))
    #expect((tier.counts.evictions, tier.counts.evictedBytes) == (5, 5 * cost))
    expectSound(tier)
  }

  @Test func `the least recently used image is evicted first`() {
    let tier = MemoryTier.holding(10 * cost, preferred: 6 * cost)
    for number in 0..<10 { _ = tier.add(image("http://h/\(number)"), at: at(0)) }
    _ = tier.image(for: key("http://h/0"), at: at(1))
    _ = tier.peek(key("http://h/1"))
    _ = tier.add(image("http://h/x"), at: at(2))
    let left = "0123456789x".filter { tier.peek(key("http://h/\($0)")) != nil }
    #expect(left == "06789x")
    expectSound(tier)
  }

  @Test func `replacing first subtracts the old cost, and is no insertion`() {
    let tier = MemoryTier.holding(4 * cost)
    for number in 0..<3 { _ = tier.add(image("http://h/\(number)"), at: at(0)) }
    let larger = image("http://h/1", bytes: 1_500, serial: 2)
    #expect(tier.add(larger, at: at(1)) == .stored(evicted: .none))
    #expect(tier.usage == 3 * cost + 500)
    #expect(tier.peek(larger.key) === larger)
    #expect((tier.counts.insertions, tier.counts.replacements) == (3, 1))
    #expect(tier.add(larger, at: at(1)) == .stored(evicted: .none))
    expectSound(tier)
  }

  @Test func `an image that must not be kept is refused with the reason, and changes nothing`() {
    let tier = MemoryTier.holding(100 * cost, preferred: 50 * cost, maxEntry: 2 * cost)
    let cases: [(CachedImage, StoreRefusal)] = [
      (image(key("http://h/a"), headers: [("cache-control", "no-store")]), .noStore),
      (image(key("http://h/a"), headers: [("vary", "*")]), .varies),
      (image(key("http://h/a"), width: 0), .notAPicture),
      (image(key("http://h/a"), isPurged: true), .purged),
      (image("http://h/a", bytes: 3 * cost), .tooLarge),
    ]
    for (image, refusal) in cases {
      #expect(tier.shouldCache(image) == refusal)
      #expect(tier.add(image, at: at(0)) == .refused(refusal))
    }
    #expect((tier.count, tier.usage) == (0, 0))
    #expect(tier.shouldCache(image("http://h/a")) == nil)
  }

  @Test func `an image above the preferred amount is refused, as it would evict itself`() {
    let tier = MemoryTier.holding(10 * cost, preferred: cost)
    #expect(tier.add(image("http://h/a"), at: at(0)).isStored)
    #expect(tier.add(image("http://h/b", bytes: 1_001), at: at(0)) == .refused(.tooLarge))
    let none = MemoryTier.holding(0)
    #expect(none.add(image("http://h/a"), at: at(0)) == .refused(.tooLarge))
  }

  @Test func `a late response never replaces a newer one`() {
    let tier = MemoryTier.holding(10 * cost)
    let newer = image("http://h/a", serial: 5)
    _ = tier.add(newer, at: at(0))
    #expect(tier.add(image("http://h/a", serial: 4), at: at(1)) == .refused(.olderThanStored))
    #expect(tier.peek(newer.key) === newer)
    #expect(tier.add(image("http://h/a", serial: 6), at: at(1)).isStored)
    expectSound(tier)
  }

  @Test func `removing returns the image once`() {
    let tier = MemoryTier.holding(10 * cost)
    let image = image("http://h/a")
    _ = tier.add(image, at: at(0))
    #expect(tier.remove(image.key) === image)
    #expect(tier.remove(image.key) == nil)
    #expect((tier.count, tier.usage) == (0, 0))
    expectSound(tier)
  }

  @Test func `removing all reports the removed images`() {
    let tier = MemoryTier.holding(1_000 * cost)
    for number in 0..<100 { _ = tier.add(image("http://h/\(number % 10)/\(number)"), at: at(0)) }
    let (bytes, entries) = (tier.usage, tier.count)
    let removal = tier.removeAll()
    #expect((removal.entries, removal.bytes) == (entries, bytes))
    #expect((tier.count, tier.usage, tier.counts.purges) == (0, 0, 1))
    #expect(tier.removeAll() == .none)
    #expect(tier.add(image("http://h/a"), at: at(0)).isStored)
    #expect(tier.page(after: nil, limit: 10).images.count == 1)
    expectSound(tier)
  }

  @Test func `lower limits evict at once, higher limits change nothing`() {
    let tier = MemoryTier.holding(10 * cost)
    for number in 0..<10 { _ = tier.add(image("http://h/\(number)"), at: at(0)) }
    let lower = MemoryTier.Limits(capacity: 5 * cost, preferred: 3 * cost, maxEntry: cost)
    #expect(tier.apply(lower).entries == 7)
    #expect(tier.count == 3)
    let higher = MemoryTier.Limits(capacity: 50 * cost, preferred: 3 * cost, maxEntry: cost)
    #expect(tier.apply(higher) == .none)
    expectSound(tier)
  }

  @Test func `an encoded reply and a memfd are charged to their image, and lent bytes are counted`()
    throws
  {
    let tier = MemoryTier.holding(10 * cost)
    let kept = image("http://h/a")
    _ = tier.add(kept, at: at(0))
    #expect(tier.keepReply([UInt8](repeating: 0, count: 300), with: kept) == .none)
    #expect(tier.usage == cost + 300)
    kept.withReply { facts, ending in #expect(facts.count == 300 && ending.isEmpty) }
    #expect(tier.makeLendable(kept) == .none)
    #expect(kept.payload.isShareable)
    #expect(tier.usage == cost + 300 + kept.payload.cost)
    #expect(tier.lentBytes == kept.payload.count)
    #expect(tier.makeLendable(kept) == .none)
    #expect(tier.lentBytes == kept.payload.count)
    _ = tier.remove(kept.key)
    #expect(tier.lentBytes == 0)
    #expect(tier.keepReply([], with: kept) == .none)
    #expect(tier.usage == 0)
  }

  @Test func `the parts of an encoded reply are kept and charged side by side, in either order`() {
    let tier = MemoryTier.holding(10 * cost)
    let kept = image("http://h/a")
    _ = tier.add(kept, at: at(0))
    let cases: [(facts: String, ending: String)] = [
      ("", "path"), ("facts", "path"), ("other facts", "path"), ("other facts", "longer path"), ("other facts", ""),
    ]
    for (facts, ending) in cases {
      _ = tier.keepReply(Array(facts.utf8), with: kept)
      _ = tier.keepPathEnding(Array(ending.utf8), with: kept)
      #expect(kept.hasReply == !facts.isEmpty && kept.hasPathEnding == !ending.isEmpty)
      kept.withReply { #expect(text($0) == facts && text($1) == ending) }
      #expect(tier.usage == cost + facts.utf8.count + ending.utf8.count)
    }
  }

  private func text(_ bytes: Span<UInt8>) -> String {
    bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `a reply that exceeds the capacity causes an eviction`() {
    let tier = MemoryTier.holding(2 * cost, preferred: 2 * cost)
    let images = [image("http://h/a"), image("http://h/b")]
    for image in images { _ = tier.add(image, at: at(0)) }
    #expect(tier.keepReply([0], with: images[1]).entries == 1)
    #expect(tier.peek(images[0].key) == nil)
    #expect(tier.count == 1)
    expectSound(tier)
  }

  @Test func `pictures of equal size are evicted in AlamofireImage's numbers`() {
    // 100 MiB and 60 MiB, 164,000 bytes each: 639 fit, the next one leaves 383.
    let tier = MemoryTier.holding(104_857_600, preferred: 62_914_560)
    let bytes = 164_000 - (image("http://h/000", bytes: 100_000).cost - 100_000)
    func add(_ number: Int) {
      let name = String(repeating: "0", count: 3 - "\(number)".count) + "\(number)"
      _ = tier.add(image("http://h/\(name)", bytes: bytes), at: at(0))
    }
    for number in 1...639 { add(number) }
    #expect(tier.usage == 104_796_000)
    add(640)
    #expect((tier.usage, tier.count) == (62_812_000, 383))
    #expect(tier.peek(key("http://h/257")) == nil)
    #expect(tier.peek(key("http://h/258")) != nil)
  }

  @Test func `a user who floods loses his own pictures, however new they are`() {
    let tier = MemoryTier.holding(100_000, preferred: 80_000)
    let cost = image(key(url(0)), bytes: 9_000, owner: 1).cost
    for number in 0..<4 { _ = tier.add(image(key(url(number)), bytes: 9_000, owner: 1), at: at(0)) }
    for number in 10..<100 { _ = tier.add(image(key(url(number)), bytes: 9_000, owner: 2), at: at(1)) }
    #expect((0..<4).allSatisfy { tier.peek(key(url($0))) != nil })
    #expect(tier.peek(key(url(99))) != nil && tier.usage <= 100_000 && tier.usage > 4 * cost)
    // A third user has the same share.
    for number in 200..<300 { _ = tier.add(image(key(url(number)), bytes: 9_000, owner: 3), at: at(2)) }
    #expect((0..<3).allSatisfy { tier.peek(key(url($0 + 1))) != nil })
  }

  @Test func `bytes of a picture that has forms stay while their user is below a share`() {
    let tier = MemoryTier.holding(100_000, preferred: 80_000)
    let picture = image(key(url(0)), bytes: 20_000, owner: 1)
    let form = picture.derived(
      key: picture.key.made(of: picture.checksum, form: "small"),
      body: ImageBody(Payload([1, 2, 3]), facts: picture.facts), owner: 1, checked: picture.checked)
    _ = tier.add(picture, at: at(0))
    _ = tier.add(form, at: at(0))
    _ = tier.keepPlace(of: form, as: "small", with: picture)
    for number in 10..<100 { _ = tier.add(image(key(url(number)), bytes: 9_000, owner: 2), at: at(1)) }
    #expect(tier.peek(picture.key)?.hasBody == true)
    for number in 100..<104 { _ = tier.add(image(key(url(number)), bytes: 9_000, owner: 1), at: at(1)) }
    #expect(tier.peek(picture.key)?.hasBody == false)
  }
}
