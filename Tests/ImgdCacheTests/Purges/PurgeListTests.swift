import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

private func filter(_ change: (inout PurgeFilter) -> Void) -> PurgeFilter {
  var filter = PurgeFilter()
  change(&filter)
  return filter
}

private func of(_ url: String) -> PurgeFilter {
  filter { $0.url = CanonicalURL(canonical: url) }
}

private let picture = "http://a.example.org/x/y"

struct PurgeListTests {
  private let list = PurgeList()

  @discardableResult
  private func add(
    _ filter: PurgeFilter, isSoft: Bool = false, from scope: PurgeList.Scope = .all,
    at second: Int64 = 0
  ) -> UInt64 {
    list.add(filter, isSoft: isSoft, from: scope, at: at(second)).number
  }

  private func verdict(
    _ url: String = picture, tags: [String] = [], in scope: PurgeList.Scope = .all,
    after number: UInt64 = 0, storedAt: Int64? = 0
  ) -> PurgeVerdict {
    list.verdict(
      on: key(url), tags: tags, in: scope, after: number, storedAt: storedAt.map { at($0) })
  }

  @Test func `numbers rise, and a purge means what was compared with earlier ones alone`() {
    #expect(list.newest == 0)
    #expect(add(of(picture)) == 1)
    #expect(add(of("http://b/")) == 2)
    #expect(list.newest == 2)
    #expect(verdict(after: 0) == .purged)
    #expect(verdict(after: 1) == .untouched)
    #expect(verdict("http://b/", after: 1) == .purged)
    #expect(verdict("http://b/", after: 2) == .untouched)
  }

  @Test func `a purge is about its tiers alone`() {
    add(of(picture), from: .memory)
    #expect(verdict(in: .memory) == .purged)
    #expect(verdict(in: .disk) == .untouched)
    #expect(verdict(in: .all) == .purged)
    add(of("http://b/"), from: .disk)
    #expect(verdict("http://b/", in: .memory) == .untouched)
    #expect(verdict("http://b/", in: .disk) == .purged)
    #expect(verdict("http://b/", in: .all) == .purged)
  }

  @Test func `the hardest purge of any tier counts`() {
    add(of(picture), from: .memory)
    add(of(picture), isSoft: true, from: .disk)
    #expect(verdict(in: .all) == .purged)
    #expect(verdict(in: .all, after: 1) == .stale)
    #expect(verdict(in: .memory, after: 1) == .untouched)
  }

  @Test func `a purge by age means what was stored before, and nothing that is new`() {
    add(filter { $0.olderThan = .seconds(10) }, at: 100)
    #expect(verdict(storedAt: 89) == .purged)
    #expect(verdict(storedAt: 90) == .untouched)
    #expect(verdict(storedAt: nil) == .untouched)
    add(PurgeFilter())
    #expect(verdict(storedAt: nil) == .purged)
  }

  @Test(arguments: [filter { $0.unusedFor = .seconds(10) }, filter { $0.expired = true }])
  func `what only a tier knows counts as met by all that was stored`(_ purge: PurgeFilter) {
    add(purge, at: 100)
    #expect(verdict(storedAt: 99) == .purged)
    #expect(verdict(storedAt: 100) == .untouched)
    #expect(verdict(storedAt: nil) == .untouched)
  }

  @Test func `of more purges than are known each may have been about anything older`() {
    for number in 0..<PurgeList.most + 10 { add(of("http://h/\(number)")) }
    #expect(verdict(after: 9) == .purged)
    #expect(verdict(after: 10) == .untouched)
    #expect(verdict("http://h/10", after: 10) == .purged)
    #expect(verdict(after: list.newest) == .untouched)
  }

  @Test func `a purge is forgotten when nothing is on its way any more that is older`() {
    add(of("http://b/"), at: 0)
    let second = add(of("http://c/"), at: 3_600)
    #expect(verdict(after: 0) == .untouched)
    add(of("http://d/"), at: 3_601)
    #expect(verdict(after: 0) == .purged)
    #expect(verdict(after: second - 1) == .untouched)
    #expect(verdict("http://c/", after: second - 1) == .purged)
    let bytes = list.bytes
    add(of("http://e/"), at: 9_000)
    #expect(list.bytes < bytes)
  }

  @Test func `large purges take no more memory than the list may have`() {
    let long = String(repeating: "x", count: 8_000)
    for number in 0..<2_000 { add(filter { $0.prefix = "http://\(number)/\(long)" }) }
    #expect(list.bytes <= PurgeList.mostBytes)
    #expect(list.bytes > PurgeList.mostBytes / 2)
    #expect(verdict(after: 0) == .purged)
    #expect(verdict(after: list.newest - 1) == .untouched)
  }
}

struct GroupPurgeTests {
  @Test func `a group is meant with its host, however many hosts have one of that name`() {
    let list = PurgeList()
    let group = EntryTags.tag(ofGroup: "g")
    func verdict(_ host: String, _ tags: [String]) -> PurgeVerdict {
      list.verdict(on: key("http://\(host)/a"), tags: tags, in: .all, after: 0, storedAt: nil)
    }
    func purge(_ change: (inout PurgeFilter) -> Void) {
      _ = list.add(filter(change), isSoft: false, from: .all, at: at(0))
    }
    purge { $0.tag = "g" }
    #expect(verdict("h0", [group]) == .untouched && verdict("h0", ["g"]) == .purged)
    purge { ($0.tag, $0.prefix) = ("g", "http://h1/") }
    #expect(verdict("h1", [group]) == .untouched)
    purge { ($0.tag, $0.host) = ("g", "h1") }
    #expect(verdict("h1", [group]) == .purged && verdict("h1", [EntryTags.tag(ofGroup: "x")]) == .untouched)
    #expect(verdict("h2", [group]) == .untouched)
    #expect(verdict("h1", [""]) == .purged, "one with too many tags")
    // More than are told apart: fetching some pictures anew is the safe mistake, missing one is not.
    for number in 1...40 { purge { ($0.tag, $0.host) = ("g", "h\(number)") } }
    for number in 1...40 { #expect(verdict("h\(number)", [group]) == .purged) }
  }
}

// MARK: A model

/// Purges and pictures of a few hosts, paths, identifiers and tags, so that many meet.
private struct Sample {
  private static let hosts = ["example.org", "a.example.org", "b.a.example.org", "10.0.0.1"]
  private static let paths = ["/", "/x", "/x/y", "/xy"]
  private static let tags = ["t", "u", "v"]
  private static let groups = ["t", "u"].map(EntryTags.tag(ofGroup:))
  private static let identifiers = ["", "i", "j"]
  var random: SeededGenerator

  mutating func number(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }
  private mutating func any(_ all: [String]) -> String { all[number(all.count)] }
  private mutating func url() -> String { "http://\(any(Self.hosts))\(any(Self.paths))" }

  mutating func picture() -> (key: CacheKey, tags: [String]) {
    let key = key(url(), number(2) == 0 ? nil : any(Self.identifiers))
    return (key, Array((Self.tags + Self.groups).shuffled(using: &random).prefix(number(3))))
  }

  mutating func scope() -> PurgeList.Scope { [.memory, .disk, .all][number(3)] }

  mutating func purge() -> PurgeFilter {
    var filter = PurgeFilter()
    for _ in 0..<1 + number(2) {
      switch number(5) {
      case 0: filter.url = CanonicalURL(canonical: url())
      case 1: filter.identifier = any(Self.identifiers)
      case 2: filter.prefix = String(url().prefix(8 + number(16)))
      case 3: filter.host = any(Self.hosts + ["org", "0.1"])
      default: filter.tag = any(Self.tags)
      }
    }
    return filter
  }
}

struct PurgeListModelTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `the list says what comparing with every purge would say`(seed: UInt64) throws {
    var sample = Sample(random: SeededGenerator(seed: seed))
    let list = PurgeList()
    var rows: [PurgeList.Row] = []
    var seen: [PurgeVerdict: Int] = [:]
    for _ in 0..<500 {
      rows.append(
        list.add(
          sample.purge(), isSoft: sample.number(2) == 0, from: sample.scope(), at: at(0)))
      for _ in 0..<3 {
        let (picture, scope) = (sample.picture(), sample.scope())
        let number = UInt64(max(rows.count - sample.number(40), 0))
        let meant = rows.filter {
          $0.number > number && !$0.scope.isDisjoint(with: scope)
            && $0.filter.matchesName(picture.key, tags: picture.tags)
        }
        let wanted: PurgeVerdict =
          meant.isEmpty ? .untouched : meant.allSatisfy(\.isSoft) ? .stale : .purged
        let found = list.verdict(
          on: picture.key, tags: picture.tags, in: scope, after: number, storedAt: nil)
        seen[wanted, default: 0] += 1
        try #require(found == wanted, "\(picture) \(scope) after \(number)")
      }
    }
    #expect(seen.count == 3 && seen.values.allSatisfy { $0 > 50 }, "\(seen)")
  }
}
