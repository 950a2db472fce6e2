import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// A history, with a clock that the test turns, and the log that it hears.
private final class HistoryStage {
  let clock = LoopClock.manual()
  let loop: EventLoop
  let history: PurgeHistory
  private(set) var last = FleetPosition(generation: 1, number: 0, nonce: 0)

  init(last: UInt64 = 0) throws {
    loop = try EventLoop(clock: clock)
    history = PurgeHistory(loop: loop)
    history.begin(FleetJoin(generation: 1, last: last, isFromBeginning: true, loss: nil))
  }

  func pass(_ time: Duration) {
    clock.advance(by: time)
    loop.tick(waiting: false)
  }

  @discardableResult
  func hear(
    _ filter: PurgeFilter, isSoft: Bool = false, age: Duration = .zero, number: UInt64? = nil
  ) -> FleetPosition {
    let number = number ?? last.number + 1
    let nonce = number &* 0x9E37_79B9_7F4A_7C15
    last = FleetPosition(generation: 1, number: number, nonce: nonce)
    let purge = FleetPurge(filter, isSoft: isSoft, askedAt: 0, nonce: nonce)
    history.hear(HeardPurge(number: number, purge: purge, age: age))
    return last
  }

  func verdict(
    _ key: CacheKey, tags: [String] = [], mark: FleetPosition, age: Duration = .zero
  ) -> PurgeVerdict {
    history.verdict(on: key, tags: tags, mark: mark, age: age)
  }
}

private func url(_ number: Int) -> String { "https://example.org/\(number)" }

private func of(_ url: String) -> PurgeFilter {
  filter { $0.url = CanonicalURL(canonical: url) }
}

private func key(_ url: String, _ identifier: String? = nil) -> CacheKey {
  CacheKey(url: CanonicalURL(canonical: url), identifier: identifier)
}

private let picture = "https://img.example.org/a/b.png"

struct PurgeHistoryTests {
  // MARK: Conditions

  static let meaning: [PurgeFilter] = [
    PurgeFilter(), of(picture), filter { $0.identifier = "i" }, filter { $0.tag = "t" },
    filter { $0.host = "img.example.org" }, filter { $0.host = "example.org" },
    filter { $0.host = "ORG" }, filter { $0.prefix = "" }, filter { $0.prefix = "https://img" },
    filter { $0.prefix = picture },
    filter { ($0.url, $0.identifier) = (CanonicalURL(canonical: picture), "i") },
    filter { ($0.tag, $0.host) = ("t", "org") }, filter { ($0.prefix, $0.tag) = ("https://", "u") },
  ]

  static let sparing: [PurgeFilter] = [
    of("https://img.example.org/a/b.pn"), filter { $0.identifier = "" },
    filter { $0.tag = "" }, filter { $0.tag = "v" }, filter { $0.host = "mg.example.org" },
    filter { $0.host = "" }, filter { $0.host = "a.img.example.org" },
    filter { $0.prefix = "http://img" }, filter { $0.prefix = picture + "?" },
    filter { ($0.url, $0.identifier) = (CanonicalURL(canonical: picture), "j") },
    filter { ($0.tag, $0.host) = ("t", "net") },
  ]

  @Test(arguments: meaning)
  func `a later purge means the pictures that its conditions name`(_ purge: PurgeFilter) throws {
    for isSoft in [false, true] {
      let stage = try HistoryStage()
      let before = stage.last
      let mark = stage.hear(purge, isSoft: isSoft)
      let key = key(picture, "i")
      #expect(stage.verdict(key, tags: ["u", "t"], mark: before) == (isSoft ? .stale : .purged))
      #expect(stage.verdict(key, tags: ["u", "t"], mark: mark) == .untouched)
    }
  }

  @Test(arguments: sparing)
  func `other pictures are untouched`(_ purge: PurgeFilter) throws {
    let stage = try HistoryStage()
    let before = stage.last
    stage.hear(purge)
    #expect(stage.verdict(key(picture, "i"), tags: ["u", "t"], mark: before) == .untouched)
  }

  @Test func `a picture with too many tags has every one`() throws {
    let stage = try HistoryStage()
    let first = stage.last
    let mark = stage.hear(filter { $0.tag = "t" })
    #expect(stage.verdict(key(picture), tags: [""], mark: first) == .purged)
    #expect(stage.verdict(key(picture), tags: [""], mark: mark) == .untouched)
    stage.hear(filter { $0.tag = "u" }, isSoft: true)
    #expect(stage.verdict(key(picture), tags: [""], mark: mark) == .stale)
  }

  @Test func `a purge with an age means what was stored longer before it was asked for`() throws {
    let stage = try HistoryStage()
    let mark = stage.last
    stage.pass(.seconds(1_000))
    stage.hear(filter { $0.olderThan = .seconds(50) }, age: .seconds(60))
    #expect(stage.verdict(key(picture), mark: mark, age: .seconds(100)) == .untouched)
    #expect(stage.verdict(key(picture), mark: mark, age: .seconds(111)) == .purged)
    stage.pass(.seconds(10))
    #expect(stage.verdict(key(picture), mark: mark, age: .seconds(111)) == .untouched)
    #expect(stage.verdict(key(picture), mark: mark, age: .seconds(121)) == .purged)
  }

  @Test func `ages may be anything`() throws {
    let stage = try HistoryStage()
    let mark = stage.last
    for age in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero] {
      stage.hear(filter { $0.olderThan = age }, age: age)
      for age in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero] {
        _ = stage.verdict(key(picture), mark: mark, age: age)
      }
    }
  }

  @Test func `a hard purge is not forgotten for a soft one`() throws {
    let stage = try HistoryStage()
    let first = stage.last
    let second = stage.hear(of(picture))
    stage.hear(of(picture), isSoft: true)
    #expect(stage.verdict(key(picture), mark: first) == .purged)
    #expect(stage.verdict(key(picture), mark: second) == .stale)
  }

  // MARK: Marks

  @Test func `a mark of another history is not trusted`() throws {
    let stage = try HistoryStage()
    let mark = stage.hear(of(url(1)))
    let key = key(picture)
    #expect(stage.verdict(key, mark: mark) == .untouched)
    for other in [
      FleetPosition(generation: 2, number: mark.number, nonce: mark.nonce),
      FleetPosition(generation: 1, number: mark.number, nonce: mark.nonce + 1),
    ] {
      #expect(stage.verdict(key, mark: other) == .stale)
    }
    let later = FleetPosition(generation: 1, number: 99, nonce: 1)
    #expect(stage.verdict(key, mark: later) == .untouched)
    #expect(stage.verdict(key, mark: later, age: .seconds(60)) == .stale)
  }

  @Test func `nothing is known before the log has been read`() throws {
    let stage = try HistoryStage(last: 10)
    #expect(stage.history.position == nil)
    let mark = FleetPosition(generation: 1, number: 9, nonce: 0)
    #expect(stage.verdict(key(picture), mark: mark) == .stale)
    stage.hear(of(picture), number: 10)
    #expect(stage.history.position == stage.last)
    #expect(stage.verdict(key(picture), mark: mark) == .purged)
    #expect(stage.verdict(key(url(1)), mark: mark) == .untouched)
    let older = FleetPosition(generation: 1, number: 8, nonce: 0)
    #expect(stage.verdict(key(url(1)), mark: older) == .stale)
  }

  @Test func `a log that goes on goes on here, and another one begins anew`() throws {
    let stage = try HistoryStage()
    let mark = stage.hear(of(url(1)))
    stage.history.begin(
      FleetJoin(generation: 1, last: 5, isFromBeginning: false, loss: nil))
    #expect(stage.history.position == mark)
    #expect(stage.verdict(key(picture), mark: mark) == .untouched)
    stage.history.begin(FleetJoin(generation: 2, last: 0, isFromBeginning: true, loss: "other"))
    #expect(stage.history.position == FleetPosition(generation: 2, number: 0, nonce: 0))
    #expect(stage.verdict(key(picture), mark: mark) == .stale)
  }

  @Test func `a purge that is missing is a new beginning`() throws {
    let stage = try HistoryStage()
    let first = stage.hear(of(url(1)))
    stage.hear(of(url(3)), number: 3)
    #expect(stage.verdict(key(picture), mark: first) == .stale)
    #expect(stage.verdict(key(picture), mark: stage.last) == .untouched)
    stage.hear(PurgeFilter(), number: 2)
    #expect(stage.history.position?.number == 3)
  }

  // MARK: Purges of this host

  @Test func `a purge that is not in the log means all that the server has`() throws {
    let stage = try HistoryStage()
    let key = key(picture)
    let first = FleetPurge(of(picture), isSoft: false, askedAt: 0, nonce: 1)
    let second = FleetPurge(of(picture), isSoft: true, askedAt: 0, nonce: 2)
    stage.history.addOwn(first)
    stage.history.addOwn(second)
    let later = FleetPosition(generation: 1, number: 99, nonce: 0)
    #expect(stage.verdict(key, mark: later) == .purged)
    stage.history.settleOwn(1)
    #expect(stage.verdict(key, mark: later) == .stale)
    stage.history.settleOwn(2)
    #expect(stage.verdict(key, mark: later) == .untouched)
    #expect(stage.history.bytes == 0)
  }

  @Test func `purges of this host count until the earlier ones are in the log`() throws {
    let stage = try HistoryStage()
    for nonce in 1...3 as ClosedRange<UInt64> {
      stage.history.addOwn(
        FleetPurge(of(url(Int(nonce))), isSoft: false, askedAt: 0, nonce: nonce))
    }
    stage.history.settleOwn(2)
    #expect(stage.verdict(key(url(2)), mark: stage.last) == .purged)
    stage.history.settleOwn(1)
    #expect(stage.verdict(key(url(2)), mark: stage.last) == .untouched)
    #expect(stage.verdict(key(url(3)), mark: stage.last) == .purged)
  }

  // MARK: Bounds

  @Test func `as much is known as the log has, and no more`() throws {
    let stage = try HistoryStage()
    var marks = [stage.last]
    for number in 1...PurgeHistory.most + 100 { marks.append(stage.hear(of(url(number)))) }
    #expect(stage.history.counts == (PurgeHistory.most, PurgeHistory.most))
    #expect(stage.verdict(key(url(100)), mark: marks[99]) == .stale)
    #expect(stage.verdict(key(picture), mark: marks[99]) == .stale)
    #expect(stage.verdict(key(picture), mark: marks[100]) == .untouched)
    #expect(stage.verdict(key(url(101)), mark: marks[100]) == .purged)
    #expect(stage.verdict(key(url(101)), mark: marks[99]) == .purged)
  }

  @Test func `large purges go before they take too much memory`() throws {
    let stage = try HistoryStage()
    let long = String(repeating: "x", count: 8_000)
    for number in 1...4_000 { stage.hear(filter { $0.prefix = "https://\(number)/\(long)" }) }
    #expect(stage.history.bytes <= PurgeHistory.mostBytes)
    #expect(stage.history.counts.purges < 4_000)
    #expect(stage.verdict(key(picture), mark: stage.last) == .untouched)
    let first = FleetPosition(generation: 1, number: 0, nonce: 0)
    #expect(stage.verdict(key(picture), mark: first) == .stale)
  }

  @Test func `the same purge again takes no more room`() throws {
    let stage = try HistoryStage()
    for number in 0..<3_000 {
      stage.hear(
        number.isMultiple(of: 3)
          ? of(picture) : filter { $0.olderThan = .seconds(number) }, isSoft: number % 2 == 0)
    }
    #expect(stage.history.counts == (3_000, 2))
  }

  @Test func `too many conditions under one lead are given up`() throws {
    let stage = try HistoryStage()
    let first = stage.last
    for number in 0..<PurgeTable.mostUnderOneLead {
      stage.hear(filter { ($0.tag, $0.host) = ("t", "h\(number)") })
    }
    #expect(stage.verdict(key(picture), tags: ["t"], mark: first) == .untouched)
    let before = stage.last
    stage.hear(filter { ($0.tag, $0.host) = ("t", "h") })
    #expect(stage.history.counts.filters == 1)
    #expect(stage.verdict(key(picture), tags: ["t"], mark: before) == .purged)
    #expect(stage.verdict(key(picture), tags: ["t"], mark: stage.last) == .untouched)
    #expect(stage.verdict(key(picture), tags: ["u"], mark: first) == .untouched)
  }

  /// A look may compare as many filters as have a condition in common with it, however many others there are.
  @Test func `the cost of a look does not grow with the purges`() throws {
    let stage = try HistoryStage()
    for number in 0..<2_000 {
      stage.hear(of("https://img.example.org/\(number)"))
      stage.hear(filter { $0.tag = "t\(number)" })
      stage.hear(filter { $0.host = "h\(number).example.org" })
      stage.hear(filter { $0.prefix = "https://img.example.org/\(number)/" })
      stage.hear(filter { $0.identifier = "i\(number)" })
    }
    let before = stage.history.comparisons
    for _ in 0..<100 {
      _ = stage.verdict(key(picture, "i"), tags: ["t"], mark: stage.last)
    }
    #expect(stage.history.comparisons == before)
    let first = FleetPosition(generation: 1, number: 1, nonce: 0)
    _ = stage.verdict(key("https://img.example.org/7", "i8"), tags: ["t9"], mark: first)
    #expect(stage.history.comparisons - before <= 3)
  }
}

// MARK: A model

/// The history in its simplest form: a list.
private struct PlainHistory {
  var purges: [(filter: PurgeFilter, isSoft: Bool, number: UInt64, askedAt: Instant)] = []

  func verdict(
    on key: CacheKey, tags: [String], after mark: UInt64, storedAt: Instant
  ) -> PurgeVerdict {
    var verdict = PurgeVerdict.untouched
    for purge in purges where purge.number > mark && purge.filter.matchesName(key, tags: tags) {
      if let age = purge.filter.olderThan, storedAt >= purge.askedAt + (.seconds(1) - age) {
        continue
      }
      if !purge.isSoft { return .purged }
      verdict = .stale
    }
    return verdict
  }
}

/// Purges and pictures of a few hosts, paths, identifiers and tags, so that many meet.
private struct Sample {
  private static let hosts = [
    "example.org", "a.example.org", "b.a.example.org", "h.net", "10.0.0.1",
  ]
  private static let paths = ["/", "/x", "/x/y", "/x/y?z", "/xy"]
  private static let tags = ["t", "u", "v"]
  private static let groups = ["t", "u"].map(EntryTags.tag(ofGroup:))
  private static let identifiers = ["", "i", "j"]
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private mutating func any(_ all: [String]) -> String { all[number(all.count)] }

  mutating func number(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }

  mutating func url() -> String { "https://\(any(Self.hosts))\(any(Self.paths))" }

  mutating func key() -> CacheKey {
    ImgdDaemonTests.key(url(), number(2) == 0 ? nil : any(Self.identifiers))
  }

  mutating func tagged() -> [String] {
    let count = number(3)
    return Array((Self.tags + Self.groups).shuffled(using: &random).prefix(count))
  }

  /// With up to two conditions on names: fewer than are told apart under one lead.
  mutating func filter() -> PurgeFilter {
    var filter = PurgeFilter()
    for _ in 0..<number(3) {
      switch number(5) {
      case 0: filter.url = CanonicalURL(canonical: url())
      case 1: filter.identifier = any(Self.identifiers)
      case 2: filter.prefix = String(url().prefix(number(24)))
      case 3: filter.host = any(Self.hosts + ["org", "net", "0.1"])
      default: filter.tag = any(Self.tags)
      }
    }
    // Else hardly anything is ever untouched.
    if filter.matchesAll, number(20) > 0 { filter.url = CanonicalURL(canonical: url()) }
    if number(4) == 0 { filter.olderThan = .seconds(10 * number(30)) }
    return filter
  }
}

struct PurgeHistoryModelTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `the history says what a list of purges would say`(seed: UInt64) throws {
    let stage = try HistoryStage()
    var (sample, plain) = (Sample(seed: seed), PlainHistory())
    // The last purge that had been heard before each moment; they are ten seconds apart.
    var moments: [(at: Instant, mark: FleetPosition)] = []
    var seen: [PurgeVerdict: Int] = [:]
    for _ in 0..<1_000 {
      if moments.last?.at != stage.loop.now { moments.append((stage.loop.now, stage.last)) }
      let (filter, isSoft) = (sample.filter(), sample.number(2) == 0)
      let age = Duration.seconds(10 * sample.number(3))
      stage.hear(filter, isSoft: isSoft, age: age)
      plain.purges.append((filter, isSoft, stage.last.number, stage.loop.now + (.zero - age)))
      if sample.number(3) == 0 { stage.pass(.seconds(10)) }
      for _ in 0..<3 {
        let (key, tags) = (sample.key(), sample.tagged())
        let stored = moments[max(moments.count - 1 - sample.number(100), 0)]
        let wanted = plain.verdict(
          on: key, tags: tags, after: stored.mark.number, storedAt: stored.at)
        let found = stage.verdict(
          key, tags: tags, mark: stored.mark, age: stage.loop.now - stored.at)
        seen[wanted, default: 0] += 1
        try #require(found == wanted, "\(key) \(tags) \(stored)")
      }
    }
    #expect(seen.count == 3 && seen.values.allSatisfy { $0 > 50 }, "\(seen)")
  }
}
