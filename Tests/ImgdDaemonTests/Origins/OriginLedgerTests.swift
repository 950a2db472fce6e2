import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache
@testable import ImgdDaemon

/// Which hosts have tallies, and what floods of others do to them.
final class OriginLedgerTests {
  private let clock = LoopClock.manual()
  private let loop: EventLoop
  private let memory = MemoryTier(limits: MemoryTier.Limits(capacity: 1 << 30, preferred: 1 << 30, maxEntry: 1 << 20))
  private let ledger: OriginLedger

  init() throws {
    loop = try EventLoop(clock: clock)
    ledger = OriginLedger(OriginRules([:]), memory: memory, loop: loop)
  }

  deinit { loop.close() }

  private func url(_ host: String) -> CanonicalURL { CanonicalURL(canonical: "http://\(host)/") }

  private func count(_ host: String, times: Int = 1) {
    let url = url(host)
    for _ in 0..<times { ledger.countFetch(of: url, endedWith: .network) }
  }

  private func image(_ host: String) -> CachedImage {
    let image = CachedImage.make(
      key: CacheKey(url: url(host), identifier: nil, variant: nil),
      body: ImageBody(Payload([1]), facts: ImageFacts(format: 0, width: 1, height: 1, frames: 1, orientation: 1)),
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: []), freshness: Freshness(status: 200, headers: [], receivedAt: 0)),
      serial: 1,
      stored: StoredMoment(loop.now, wall: 0))
    _ = memory.add(image, at: loop.now)
    return image
  }

  private var requests: [String: Int] {
    let rows = ledger.rows(after: 0, most: .max).members
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.tally.host?.name ?? "?", $0.requests) })
  }

  @Test func `a flood of hosts drives none of the busy ones out`() {
    for number in 0..<OriginLedger.mostHosts { count("busy\(number)", times: 10) }
    for number in 0..<1_000_000 { count("h\(number)") }
    let known = requests
    #expect(known.count == OriginLedger.mostHosts)
    #expect((0..<OriginLedger.mostHosts).allSatisfy { known["busy\($0)"] == 10 })
  }

  @Test func `a host that becomes busy in a flood takes the place of the least busy one`() {
    for number in 0..<OriginLedger.mostHosts { count("old\(number)", times: 10 + number) }
    for number in 0..<10_000 {
      count("flood\(number)")
      if number % 50 == 0 { count("new") }
    }
    let known = requests
    #expect(known["new"] ?? 0 > 100)
    #expect(known["old0"] == nil && known["old1"] == 11)
    // It comes back when it is busier than the next one, and not before.
    count("old0", times: 11)
    #expect(requests["old0"] == nil)
    count("old0", times: 1)
    #expect(requests["old0"] == 1 && requests["old1"] == nil)
  }

  @Test func `who was busy yesterday gives way`() {
    for number in 0..<OriginLedger.mostHosts { count("old\(number)", times: 1_000) }
    clock.advance(by: BusyHosts.halfLife * 11)
    loop.tick(waiting: false)
    count("new", times: 2)
    #expect(requests["new"] == 2 && requests.count == OriginLedger.mostHosts)
  }

  @Test func `hits alone make a host busy, and go on to count where their host is`() {
    for number in 0..<OriginLedger.mostHosts { count("busy\(number)", times: 10) }
    let (picture, other) = (image("pictures"), image("busy0"))
    for _ in 0..<2_000 {
      memory.noteUse(of: picture, at: loop.now)
      memory.noteUse(of: other, at: loop.now)
    }
    #expect(requests["busy0"] == 2_010)
    #expect((1_500...2_000).contains(requests["pictures"] ?? 0), "\(requests["pictures"] ?? 0)")
    // The host loses its tally: its pictures must not count with the next host that gets it.
    count("next", times: 1_000)
    clock.advance(by: BusyHosts.halfLife * 30)
    loop.tick(waiting: false)
    for number in 0..<OriginLedger.mostHosts { count("later\(number)", times: 100) }
    let before = requests
    #expect(before["pictures"] == nil)
    for _ in 0..<10 { memory.noteUse(of: picture, at: loop.now) }
    #expect(requests == before)
  }

  @Test func `a flood of pictures of many hosts costs no tally`() {
    for number in 0..<OriginLedger.mostHosts { count("busy\(number)", times: 50) }
    let images = (0..<20_000).map { image("h\($0)") }
    for _ in 0..<4 { for image in images { memory.noteUse(of: image, at: loop.now) } }
    let known = requests
    #expect((0..<OriginLedger.mostHosts).allSatisfy { known["busy\($0)"] == 50 })
  }

  @Test(arguments: [
    ["HTTP://A.Example:80/x", "http://a.example/y", "http://a.EXAMPLE:8080/", "https://a.example/z"],
    ["http://[::1]/", "http://[::1]:81/"],
  ])
  func `all spellings of a host are one`(urls: [String]) throws {
    for text in urls { ledger.countFetch(of: try CanonicalURL.parse(text), endedWith: nil) }
    #expect(Array(requests.values) == [urls.count])
  }

  @Test func `a name that is longer than any host's has no tally`() {
    count(String(repeating: "a", count: 4_000))
    #expect(requests == [:])
  }
}
