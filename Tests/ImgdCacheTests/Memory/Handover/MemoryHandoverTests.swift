import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// The pictures that a memory tier leaves to the next process.
struct MemoryHandoverTests {
  private static let plenty = HandoverLimits(descriptors: 1_000, bytes: 1 << 30)

  private func leave(
    _ tier: MemoryTier, within limits: HandoverLimits = plenty, isClean: Bool = true,
    at now: Int64 = 0, wall: Int64 = 1_000_000
  ) throws -> Handover? {
    try tier.handover(
      within: limits, isClean: isClean, at: at(now), wall: wall)
  }

  /// Another process's view of it: descriptors of its own, and a clock that has just begun.
  private func next(
    _ handover: Handover, tier: MemoryTier = .holding(100 << 20), bodies: [Payload]? = nil,
    wall: Int64 = 1_000_000
  ) throws -> MemoryTier {
    _ = try tier.takeOver(
      index: try inherited(handover.index),
      bodies: try (bodies ?? handover.bodies).map(inherited), at: at(0),
      wall: wall)
    return tier
  }

  private func inherited(_ payload: Payload) throws -> Payload {
    guard let adopted = Payload.adopt(try payload.openReadOnly()) else {
      throw HandoverProblem.notWhole
    }
    return adopted
  }

  private func tier(_ images: [CachedImage]) throws -> MemoryTier {
    let tier = MemoryTier.holding(100 << 20)
    for image in images {
      // As they come from the network.
      if image.payload.count > Payload.heapLimit {
        image.payload = try image.payload.shareable()
      }
      try #require(tier.add(image, at: image.storedAt).isStored)
    }
    return tier
  }

  // MARK: Whole

  /// A picture that was redirected, for requests that want it in German.
  private func redirected(_ headers: HeaderList) -> CachedImage {
    CachedImage.make(
      key: key("http://h/redirected"),
      body: ImageBody(
        Payload([1, 2, 3]),
        facts: ImageFacts(format: 3, width: 7, height: 9, frames: 12, orientation: 6)),
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: headers, redirectTarget: "http://elsewhere/é"),
        freshness: Freshness(status: 200, headers: headers, receivedAt: 0),
        vary: VaryOutcome(varying: ["accept-language"], sent: [("accept-language", "de")])),
      serial: 9, stored: StoredMoment(at(3), wall: 3))
  }

  @Test func `small and large pictures are taken over with all their properties`() throws {
    let headers: HeaderList = [
      ("cache-control", "max-age=600, stale-while-revalidate=30, stale-if-error=70, immutable"),
      ("etag", "\"é1\""), ("vary", "accept-language"), ("x-empty", ""),
    ]
    let images = [
      image(key("http://h/a", "thumb é"), bytes: 900, headers: headers, tags: ["x", "y"]),
      image(key("https://h:8443/b?c=d"), bytes: 200_000, headers: headers, tags: ["z"]),
      image(key("http://h/none"), bytes: 1, headers: [("cache-control", "no-cache")]),
      redirected(headers),
    ]
    let handover = try #require(try leave(try tier(images), at: 100))
    // One in a memfd of its own, three in the pack.
    #expect(handover.entries == 4 && handover.bodies.count == 2)
    let later = try next(handover, wall: 1_000_010)
    #expect(later.count == 4)
    for old in images {
      let new = try #require(later.peek(old.key))
      #expect(new.payload.bytes == old.payload.bytes)
      #expect(new.facts == old.facts && new.tags == old.tags)
      #expect(new.freshness == old.freshness && new.vary == old.vary)
      #expect(new.response.redirectTarget == old.response.redirectTarget)
      #expect(new.response.status == 200 && new.response.entityTag == old.response.entityTag)
      #expect(new.response.headers.packed == old.response.headers.packed)
      // A hundred seconds in the one process, and ten between the two.
      #expect(new.age(at: at(0)) == old.age(at: at(110)))
      #expect(new.freshFor(at: at(0)) == old.freshFor(at: at(110)))
    }
    expectSound(later)
  }

  @Test func `a picture for other headers is taken over as such`() throws {
    let url = try CanonicalURL.parse("http://h/a")
    let variant = KeyVariant(identifier: "x", fields: [("accept", "b")], uid: 7)
    let special = CacheKey(url: url, identifier: "x", variant: variant)
    let old = try tier([image(special, bytes: 10), image(key("http://h/a"), bytes: 20)])
    let new = try next(try #require(try leave(old)))
    #expect(new.peek(special)?.payload.count == 10 && new.peek(special)?.key.variant == variant)
    #expect(new.peek(key("http://h/a"))?.payload.count == 20)
    #expect(new.peek(key("http://h/a", "x")) == nil)
  }

  @Test func `the most recently used picture stays the most recently used`() throws {
    let first = try tier((0..<50).map { image("http://h/\($0)") })
    for number in [7, 3, 3, 40] {
      _ = first.image(for: key("http://h/\(number)"), at: at(Int64(number)))
    }
    func order(_ tier: MemoryTier) -> [String] {
      tier.images.newestFirst.map { tier.images.image(at: $0).key.url.text }
    }
    let second = try next(try #require(try leave(first, at: 60)))
    #expect(order(second) == order(first))
    #expect(order(second).prefix(3) == ["http://h/40", "http://h/3", "http://h/7"])
    #expect(second.peek(key("http://h/40"))?.lastAccess == at(-20))
  }

  @Test func `a lifetime that ends between the processes is over, and a purge mark is kept`() throws {
    let fresh = image(key("http://h/a"), headers: [("cache-control", "max-age=60")])
    let marked = image(key("http://h/b"), headers: [("cache-control", "max-age=9999")])
    let first = try tier([fresh, marked])
    marked.markStale()
    let handover = try #require(try leave(first))
    let second = try next(handover, wall: 1_000_059)
    #expect(second.peek(fresh.key)?.isFresh(at: at(0)) == true)
    #expect(second.peek(marked.key)?.isFresh(at: at(0)) == false)
    #expect(try next(handover, wall: 1_000_061).peek(fresh.key)?.isFresh(at: at(0)) == false)
    // A clock that was set back: the time between is unknown.
    #expect(try next(handover, wall: 900_000).peek(fresh.key)?.isFresh(at: at(0)) == false)
  }

  @Test func `a purge mark is kept on a picture that was never fresh`() throws {
    let headers = [("cache-control", "max-age=0, stale-while-revalidate=900")]
    let marked = image(key("http://h/a"), headers: headers)
    let other = image(key("http://h/b"), headers: headers)
    let first = try tier([marked, other])
    marked.markStale()
    let second = try next(try #require(try leave(first)))
    for (key, mayBeShown) in [(marked.key, false), (other.key, true)] {
      let state = try #require(second.peek(key)).state(at: at(1))
      #expect(!state.isUsable && state.mayBeShownMeanwhile == mayBeShown)
    }
  }

  @Test func `what is known of a picture without bytes is taken over, and finds its forms`() throws {
    let tag = [("cache-control", "max-age=600"), ("etag", "\"1\"")]
    let whole = image(key("http://h/a"), bytes: 200_000, headers: tag, tags: ["x"])
    let form = whole.derived(
      key: whole.key.made(of: whole.checksum, form: "small"),
      body: ImageBody(
        Payload([1, 2]), facts: ImageFacts(format: 1, width: 2, height: 2, frames: 1, orientation: 1)),
      checked: 0)
    let first = try tier([whole, form])
    _ = first.keepPlace(of: form, as: "small", with: whole)
    let facts = whole.withoutBody()
    _ = first.add(facts, at: at(0))
    #expect(try leave(first, isClean: false) == nil, "a snapshot has what is in memfds alone")
    let handover = try #require(try leave(first))
    #expect(handover.entries == 2 && handover.bodies.map(\.count) == [2])
    // Its bytes take no room, however many they were.
    let second = try next(handover, tier: .holding(10_000))
    let known = try #require(second.peek(whole.key))
    #expect(!known.hasBody && known.byteCount == 200_000 && known.checksum == whole.checksum)
    #expect(known.response.entityTag == "\"1\"" && known.tags == ["x"])
    #expect(second.peek(known.key.made(of: known.checksum, form: "small"))?.payload.count == 2)
    expectSound(second)
    var index = try HandoverIndex.decode(handover.index.bytes)
    index.entries = try index.entries.map { try altered($0, bytes: 0, body: .away) }
    let forged = Handover(
      index: try Payload(index.encoded()).shareable(), bodies: [], entries: 2)
    #expect(try next(forged).count == 0, "nothing cannot have gone")
  }

  // MARK: Bounded

  @Test func `a handover keeps within its limits and contains the most recently used pictures`()
    throws
  {
    let images = (0..<20).map { image("http://h/large\($0)", bytes: 200_000) }
    let first = try tier(images + (0..<20).map { image("http://h/small\($0)", bytes: 1_000) })
    let four = 4 * (image("http://h/small10").cost - 1_000) + 100
    let much = 1 << 30
    for (descriptors, bytes, pack, index, large, small) in [
      (7, much, much, 1 << 20, 5, 20), (2, much, much, 1 << 20, 0, 20), (1, much, much, much, 0, 0),
      (100, 700_000, much, 1 << 20, 3, 20), (100, much, much, four, 0, 4),
      (100, much, 3_500, 1 << 20, 20, 3), (5, much, 0, 1 << 20, 4, 0), (0, much, much, much, 0, 0),
      (100, 0, 0, much, 0, 0), (100, much, much, 0, 0, 0),
    ] {
      let limits = HandoverLimits(
        descriptors: descriptors, bytes: bytes, packBytes: pack, indexBytes: index)
      let handover = try leave(first, within: limits)
      #expect((handover?.bodies.count ?? 0) == large + (small > 0 ? 1 : 0))
      #expect((handover?.entries ?? 0) == large + small)
      #expect((handover?.index.count ?? 0) <= index)
      guard let handover else { continue }
      let second = try next(handover)
      for number in 20 - large..<20 { #expect(second.peek(key("http://h/large\(number)")) != nil) }
      for number in 20 - small..<20 { #expect(second.peek(key("http://h/small\(number)")) != nil) }
    }
  }

  @Test func `small pictures share one descriptor and come back unchanged`() throws {
    let sizes = [1, 1_000, Payload.heapLimit, Payload.heapLimit + 1, 50_000, 128 << 10]
    let images = sizes.enumerated().map { place, size in
      image(key("http://h/\(size)"), bytes: size, of: UInt8(place))
    }
    let handover = try #require(try leave(try tier(images)))
    #expect(handover.entries == sizes.count && handover.bodies.count == 1)
    let second = try next(handover)
    for old in images {
      let new = try #require(second.peek(old.key))
      #expect(new.payload.bytes == old.payload.bytes)
      #expect(new.payload.isShareable == old.payload.isShareable && new.cost == old.cost)
    }
    expectSound(second)
  }

  @Test func `a picture that does not fit into the pack has a descriptor of its own`() throws {
    let first = try tier((0..<3).map { image("http://h/\($0)", bytes: 50_000) })
    let limits = HandoverLimits(descriptors: 10, bytes: 1 << 20, packBytes: 60_000)
    let handover = try #require(try leave(first, within: limits))
    #expect(handover.entries == 3 && handover.bodies.count == 3)
    #expect(try next(handover).count == 3)
  }

  @Test func `a snapshot, which is never taken over, copies nothing`() throws {
    let images = [image("http://h/a"), image("http://h/b", bytes: 200_000)]
    let left = try #require(try leave(try tier(images), isClean: false))
    #expect(left.entries == 1 && left.bodies.map(\.count) == [200_000])
  }

  @Test func `names and headers count as well, so that no index is too large to read`() throws {
    let headers: HeaderList = [("x-long", String(repeating: "x", count: 50_000))]
    let tier = try tier((0..<500).map { image(key("http://h/\($0)"), bytes: 1, headers: headers) })
    let handover = try #require(try leave(tier))
    #expect(handover.entries > 100 && handover.index.count <= 6 << 20)
    #expect(try next(handover).count == handover.entries)
  }

  @Test func `an index above the limit is not read`() throws {
    let bytes = [UInt8](repeating: 0, count: HandoverIndex.most + 1)
    let index = try Payload(bytes).shareable()
    #expect(throws: HandoverProblem.notWhole) {
      try MemoryTier.holding(1).takeOver(
        index: index, bodies: [], at: at(0), wall: 0)
    }
  }

  @Test func `a small picture is packed even if it has a descriptor`() throws {
    let lent = image("http://h/a", bytes: 1_000)
    let first = try tier([lent])
    _ = first.makeLendable(lent)
    let handover = try #require(try leave(first))
    #expect(handover.bodies.count == 1, "the pack")
    let new = try #require(try next(handover).peek(lent.key))
    #expect(new.payload.bytes == lent.payload.bytes && !new.payload.isShareable)
  }

  @Test func `a smaller tier keeps the most recently used pictures`() throws {
    let handover = try #require(try leave(try tier((0..<20).map { image("http://h/\($0)") })))
    let cost = image("http://h/10").cost
    let second = try next(handover, tier: .holding(8 * cost, preferred: 5 * cost))
    #expect(second.peek(key("http://h/19")) != nil)
    #expect(second.peek(key("http://h/0")) == nil)
    expectSound(second)
  }

  @Test func `a picture that does not fit into the next tier is not verified, and evicts nothing`()
    throws
  {
    let images = (0..<8).map { image("http://h/\($0)", bytes: 50_000) }
    let handover = try #require(try leave(try tier(images)))
    let cost = images[0].cost
    let second = try next(handover, tier: .holding(3 * cost, preferred: 3 * cost))
    #expect(second.count == 3 && second.counts.evictions == 0)
    for number in 5..<8 { #expect(second.peek(key("http://h/\(number)")) != nil) }
    let third = try next(
      handover,
      tier: MemoryTier(
        limits: MemoryTier.Limits(capacity: 1 << 20, preferred: 1 << 20, maxEntry: 40_000)))
    #expect(third.count == 0)
    expectSound(second)
  }

  @Test func `an empty tier and pictures with credentials are not handed over`() throws {
    #expect(try leave(try tier([])) == nil)
    let scope = CredentialScope(uid: 1, credentials: [("cookie", "a")])
    let secret = image(key("http://h/a", nil, scope), headers: [("cache-control", "max-age=60")])
    #expect(try leave(try tier([secret])) == nil)
  }

  // MARK: Trusted

  @Test func `only a handover of a clean stop is taken over`() throws {
    let first = try tier([image("http://h/a", bytes: 200_000)])
    let snapshot = try #require(try leave(first, isClean: false))
    #expect(throws: HandoverProblem.notClean) { try next(snapshot) }
    let clean = try #require(try leave(first))
    #expect(try next(clean).count == 1)
  }

  @Test func `a picture with missing, shorter or other bytes is skipped, the rest is taken over`()
    throws
  {
    let images = (0..<3).map { image("http://h/\($0)", bytes: 200_000) }
    let handover = try #require(try leave(try tier(images)))
    #expect(try next(handover, bodies: []).count == 0)
    #expect(try next(handover, bodies: Array(handover.bodies.dropFirst())).count == 2)
    // It is the memfd that counts: another one is not accepted, even with the same bytes.
    let same = try Payload(images[0].payload.bytes).shareable()
    #expect(try next(handover, bodies: [same]).count == 0)
  }

  @Test func `a picture beyond the end of the pack or in a missing pack is skipped`() throws {
    let first = try tier((0..<2).map { image("http://h/\($0)", bytes: 900) })
    let left = try #require(try leave(first))
    #expect(try next(left, bodies: []).count == 0)
    #expect(try next(left, bodies: [try Payload(left.bodies[0].bytes).shareable()]).count == 0)
    var index = try HandoverIndex.decode(left.index.bytes)
    let entry = index.entries[0]
    for (start, bytes, taken) in [
      (900, 900, 1), (901, 900, 0), (0, 1_801, 0), (0, 1_800, 1), (.max, 1, 0), (0, -1, 0),
    ] as [(UInt32, Int, Int)] {
      index.entries = [try altered(entry, bytes: bytes, body: .packed(start))]
      let forged = Handover(
        index: try Payload(index.encoded()).shareable(), bodies: left.bodies, entries: 1
      )
      #expect(try next(forged).count == taken)
    }
  }

  @Test func `a memfd without seals is not taken over`() {
    for path in ["/proc/self/exe", "/dev/null", "/"] {
      #expect(Payload.adopt(FileDescriptor(owning: open(path, O_RDONLY))) == nil)
    }
    // In shared memory, and sealed against nothing but being sealed.
    let path = "/dev/shm/imgd-handover-\(getpid())"
    let shared = FileDescriptor(owning: open(path, O_RDWR | O_CREAT | O_EXCL, 0o600))
    unlink(path)
    #expect(fcntl(shared.number, 1_034) == 1, "F_GET_SEALS")
    #expect(Payload.adopt(shared) == nil)
  }

  @Test func `a memfd that is named more than once serves one picture, and its length must fit`()
    throws
  {
    let first = try tier((0..<2).map { image("http://h/\($0)", bytes: 200_000 + $0) })
    let left = try #require(try leave(first))
    var index = try HandoverIndex.decode(left.index.bytes)
    let body = index.entries[0].body
    for (lengths, taken) in [([200_001, 200_001], 1), ([200_000, 200_001], 0), ([7, 8], 0)] {
      index.entries = try zip(index.entries, lengths).map { entry, length in
        try altered(entry, bytes: length, body: body)
      }
      let forged = Handover(
        index: try Payload(index.encoded()).shareable(), bodies: left.bodies, entries: 2
      )
      #expect(try next(forged).count == taken)
    }
  }

  @Test func `a cut or changed index is not taken over`() throws {
    let first = try tier([image("http://h/a", bytes: 20), image("http://h/b", bytes: 30_000)])
    let bytes = try #require(try leave(first)).index.bytes
    for count in 0..<bytes.count {
      #expect(throws: HandoverProblem.self) {
        try HandoverIndex.decode(Array(bytes.prefix(count)))
      }
    }
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 0x20
      #expect(throws: HandoverProblem.notWhole) {
        try HandoverIndex.decode(changed)
      }
    }
    #expect(throws: HandoverProblem.self) {
      try HandoverIndex.decode(bytes + [0])
    }
  }

  /// The same with another length and another place.
  private func altered(
    _ entry: HandoverEntry, bytes: Int, body: HandoverEntry.Body
  ) throws -> HandoverEntry {
    var record = try #require(RecordCodec.decode(entry.record))
    record.bytes = bytes
    return HandoverEntry(
      record: try #require(RecordCodec.encode(record)), number: entry.number,
      lastAccess: entry.lastAccess, isStale: false, body: body)
  }

  /// The same under a checksum that fits, as an author of forged bytes would write it; the records
  /// in it have their own, which is mended where it fits no more.
  private func signed(_ bytes: [UInt8]) -> [UInt8] { resealed(bytes) }

  /// Takes over the pictures of a forged index, and uses them in every way.
  private func use(_ forged: [UInt8], _ bodies: [Payload]) throws {
    let tier = MemoryTier.holding(1 << 20)
    let index = try Payload(signed(forged)).shareable()
    do {
      _ = try tier.takeOver(index: index, bodies: bodies, at: at(5), wall: 1_000_000)
    } catch { #expect(tier.count == 0) }
    for place in tier.images.newestFirst {
      let image = tier.images.image(at: place)
      #expect(image.age(at: at(6)) >= 0 && image.freshFor(at: at(6)) >= 0)
      _ = image.state(at: at(1 << 30))
    }
    expectSound(tier)
    _ = try leave(tier, at: 7, wall: 1 << 40)
    _ = try leave(tier, at: 7, wall: 0)
  }

  @Test func `a forged index never traps, whatever it describes`() throws {
    let headers: HeaderList = [
      ("cache-control", "max-age=600, stale-while-revalidate=30, stale-if-error=70"),
      ("etag", "\"1\""), ("vary", "accept"),
    ]
    let first = try tier([
      image(key("http://h/a", "thumb"), bytes: 9, headers: headers, tags: ["x", "y"]),
      image(key("http://h/b"), bytes: 200_000, headers: headers),
      image(key("http://h/c"), bytes: 9, headers: headers).withoutBody(),
    ])
    let left = try #require(try leave(first))
    let bytes = left.index.bytes
    let bodies = try left.bodies.map(inherited)
    for place in 8..<bytes.count {
      for value: UInt8 in [0, 0x80, 0xff] {
        var forged = bytes
        forged[place] = value
        try use(forged, bodies)
      }
    }
    // Numbers of eight bytes at their ends.
    for place in 8..<bytes.count - 8 {
      for top: UInt8 in [0x7f, 0x80, 0xff] {
        var forged = bytes
        for offset in 0..<7 { forged[place + offset] = top == 0x80 ? 0 : 0xff }
        forged[place + 7] = top
        try use(forged, bodies)
      }
    }
    for count in 8..<bytes.count { try use(Array(bytes.prefix(count)), bodies) }
  }

  @Test func `a reader of any bytes ends without a trap`() throws {
    let first = try tier([image(key("http://h/a"), bytes: 20, tags: ["x"])])
    let body = Array(try #require(try leave(first)).index.bytes.dropFirst(8))
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<20_000 {
      var noise = body
      for _ in 0...Int(generator.next() % 4) {
        noise[Int(generator.next() % UInt64(noise.count))] = UInt8(
          truncatingIfNeeded: generator.next())
      }
      var reader = ByteReader(noise[Int(generator.next() % 40)...])
      var entries = 0
      while let _ = reader.entry(), entries < 1_000 { entries += 1 }
      #expect(entries < 1_000)
    }
  }
}
