import ImgdSystem
import Testing

@testable import ImgdCache

struct CachedImageTests {
  @Test func `a cached image ages from the age that it arrived with`() {
    let image = image(
      key("http://h/a"), headers: [("cache-control", "max-age=60"), ("age", "20")], storedAt: 100)
    #expect(image.age(at: at(100)) == 20)
    #expect(image.age(at: at(130)) == 50)
    #expect(image.freshFor(at: at(130)) == 10)
    #expect(image.isFresh(at: at(139)))
    #expect(!image.isFresh(at: at(140)))
    #expect(image.freshFor(at: at(500)) == 0)
    #expect(image.age(at: at(0)) == 20, "a clock before the beginning makes no age less")
  }

  @Test func `a cached image matches requests with the same varying headers`() {
    let tier = MemoryTier.holding(100_000)
    let plain = stored(varying: ["accept"], sent: [])
    #expect(plain.isFor(sent: []) && plain.isFor(sent: [("x", "1")]))
    #expect(!plain.isFor(sent: [("accept", "a")]))
    let french = stored(varying: ["accept"], sent: [("accept", "fr")])
    #expect(french.isFor(sent: [("accept", "fr")]))
    #expect(!french.isFor(sent: []))
    #expect(french.cost > stored(varying: [], sent: []).cost)
    _ = tier.add(french, at: at(0))
    #expect(tier.peek(french.key) != nil)
    #expect(tier.readyImage(for: "http://h/a", identifier: nil, at: at(0)) == nil)
  }

  /// An image that was stored with a judgement of its own.
  private func stored(
    _ freshness: Freshness = Freshness(status: 200, headers: [], receivedAt: 0),
    varying: [String] = [], sent: HeaderList = [], moment: Instant = at(0), isDoubtful: Bool = false
  ) -> CachedImage {
    CachedImage.make(
      key: key("http://h/a"),
      body: ImageBody(
        Payload([1]), facts: ImageFacts(format: 0, width: 1, height: 1, frames: 1, orientation: 1)),
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: []), freshness: freshness,
        vary: VaryOutcome(varying: varying, sent: sent)),
      serial: 0, stored: StoredMoment(moment, wall: 0, isDoubtful: isDoubtful))
  }

  /// Sixty seconds of life from an age of twenty.
  private func judgement(
    initialAge: Duration = .seconds(20), remaining: Duration = .seconds(60),
    needsConfirmation: Bool = false, mustRevalidate: Bool = false
  ) -> Freshness {
    Freshness(
      initialAge: initialAge, remaining: remaining, needsConfirmation: needsConfirmation,
      mustRevalidate: mustRevalidate, isImmutable: true,
      staleWhileRevalidate: .seconds(30), staleIfError: .seconds(90))
  }

  @Test(
    arguments: [
      // Stored at, now; age, rest.
      (-10, 0, 30, 50), (-59, 0, 79, 1), (-60, 0, 80, 0), (-1_000, 5, 1_025, 0),
      (5, 5, 20, 60), (5, 0, 20, 65),
    ] as [(Int64, Int64, Int, Int)])
  func `an image from before the clock's beginning keeps its age and its remaining lifetime`(
    moment: Int64, now: Int64, age: Int, left: Int
  ) {
    let image = stored(judgement(), moment: at(moment))
    #expect(image.age(at: at(now)) == age)
    #expect(image.freshFor(at: at(now)) == left)
    #expect(image.isFresh(at: at(now)) == (left > 0))
  }

  @Test(arguments: [-1 << 40, -3_600, -6, -5, -1, 0, 1, 59, 60, 3_600, 1 << 40] as [Int64])
  func `a changed wall clock makes no image younger or fresh for longer`(elapsed: Int64) {
    let moment = StoredMoment(storedWall: 0, nowWall: elapsed, now: at(7))
    let image = stored(judgement(), moment: moment.instant, isDoubtful: moment.isDoubtful)
    #expect(image.age(at: at(7)) >= 20)
    #expect(image.freshFor(at: at(7)) <= 60)
    #expect(image.isFresh(at: at(7)) == (-5..<60).contains(elapsed))
    if !image.isFresh(at: at(7)) { #expect(image.freshFor(at: at(7)) == 0) }
  }

  @Test func `an image with a doubtful time is granted no lifetime`() {
    let state = stored(judgement(), moment: at(7), isDoubtful: true).state(at: at(7))
    #expect(!state.isFresh)
    #expect(!state.mayBeShownMeanwhile && !state.mayStandIn(for: state.staleIfError))
    let longest = Freshness(
      status: 200, headers: [("cache-control", "stale-if-error=9999999999")], receivedAt: 0)
    let granted = stored(longest, moment: at(7), isDoubtful: true).state(at: at(7))
    #expect(!granted.isUsable && !granted.mayStandIn(for: granted.staleIfError))
  }

  @Test func `marking an image as stale changes only its state`() {
    let image = stored(judgement(mustRevalidate: true), moment: at(100))
    var expected = StoredState(
      isFresh: true, mustRevalidate: true, isImmutable: true, staleWhileRevalidate: .seconds(30),
      staleIfError: .seconds(90))
    #expect(image.state(at: at(159)) == expected)
    image.markStale()
    expected.isMarkedStale = true
    #expect(image.state(at: at(159)) == expected)
    (expected.isFresh, expected.staleFor) = (false, .seconds(5))
    #expect(image.state(at: at(165)) == expected)
    let unconfirmed = stored(judgement(needsConfirmation: true), moment: at(100))
    #expect(unconfirmed.state(at: at(100)).needsConfirmation)
    #expect(!unconfirmed.isFresh(at: at(100)))
  }

  @Test func `no stored judgement or time overflows`() {
    let durations: [Duration] = [.seconds(Int64.min), .seconds(-1), .zero, .seconds(Int64.max)]
    let instants = [Int64.min, -1, 0, .max / 4].map { Instant(nanoseconds: $0) }
    for (age, rest) in durations.flatMap({ age in durations.map { (age, $0) } }) {
      for (moment, now) in instants.flatMap({ moment in [at(0), at(1 << 30)].map { (moment, $0) } }) {
        let image = stored(judgement(initialAge: age, remaining: rest), moment: moment)
        #expect(image.age(at: now) >= 0)
        #expect(image.freshFor(at: now) >= 0)
        #expect(image.state(at: now).staleFor >= .zero)
      }
    }
  }

  @Test func `a cached image keeps its validators and is renewed by a confirmation`() {
    let headers: HeaderList = [("etag", "\"1\""), ("cache-control", "max-age=5")]
    let old = image(key("http://h/a"), bytes: 10_000, serial: 3, headers: headers, tags: ["t"])
    #expect(old.response.entityTag == "\"1\"")
    #expect(old.response.canBeConfirmed)
    #expect(!image("http://h/b").response.canBeConfirmed)
    let new = old.renewed(
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: headers),
        freshness: Freshness(status: 200, headers: headers, receivedAt: 0)),
      serial: 4, stored: StoredMoment(at(50), wall: 50))
    #expect(address(of: new.payload) == address(of: old.payload), "the bytes are not copied")
    #expect(new.isFresh(at: at(54)) && !old.isFresh(at: at(54)))
    #expect((new.serial, new.tags, new.key) == (4, ["t"], old.key))
  }

  private func address(of payload: Payload) -> UnsafeRawPointer? {
    payload.withBytes { $0.withUnsafeBytes { $0.baseAddress } }
  }

  @Test(arguments: [0, 1, 1_000, CachedImage.mostInside, CachedImage.mostInside + 1])
  func `what lies behind an image's fields comes back as it was`(count: Int) throws {
    let headers: HeaderList = [
      ("etag", "\"1\""), ("x-long", String(repeating: "é", count: 200)), ("x-empty", ""),
    ]
    let name = key(
      "http://h/\(count)?\(String(repeating: "q", count: min(count, 8_000)))", "thumb é")
    let whole = image(name, bytes: count, headers: headers, tags: ["t"], of: 9)
    #expect(whole.key == name && whole.key.digest == name.digest && whole.isOf(name.url.text))
    #expect(whole.matches(name.url.text, identifier: "thumb é", variant: nil, scope: nil))
    #expect(!whole.isPlain(name.url.text.utf8.span) && !whole.isOf("http://h/"))
    #expect(whole.response.headers.packed == packed(headers))
    #expect(whole.byteCount == count)
    #expect(whole.payload.bytes == [UInt8](repeating: 9, count: count))
    let renewed = whole.renewed(
      answer: ImageAnswer(whole.response, freshness: whole.freshness), serial: 2,
      stored: StoredMoment(at(1), wall: 1))
    #expect(renewed.key == name && renewed.payload.bytes == whole.payload.bytes)
  }

  @Test func `an endless lifetime does not overflow`() {
    let freshness = Freshness(
      status: 200, headers: [], rules: FreshnessRules(longestTTL: .seconds(Int64.max)),
      terms: FreshnessTerms(ttl: .seconds(Int64.max)), receivedAt: 0)
    let endless = CachedImage.make(
      key: key("http://h/a"),
      body: ImageBody(
        Payload([]),
        facts: ImageFacts(format: 0, width: 1 << 40, height: 1, frames: 1, orientation: 999)),
      answer: ImageAnswer(StoredResponse(status: 200, headers: []), freshness: freshness),
      serial: 1, stored: StoredMoment(at(1_000), wall: 0))
    #expect(endless.isFresh(at: at(2_000)))
    #expect(endless.freshFor(at: at(2_000)) > 1_000_000)
  }
}

/// Header fields as files have them.
private func packed(_ list: HeaderList) -> [UInt8] {
  var writer = ByteWriter()
  for (name, value) in list {
    writer.put(name)
    writer.put(value)
  }
  return writer.bytes
}
