import ImgdTestSupport
import Testing

@testable import ImgdCache

struct FilterQueryTests {
  private let sample: SampleIndex
  private let index: IndexFile

  init() throws {
    sample = try SampleIndex()
    index = try sample.open()
  }

  // MARK: Against a plain model

  @Test func `a filter finds the same rows as a scan of all rows`() throws {
    var random = SeededGenerator(seed: 3)
    let rows = (1...400).map { randomRow($0, using: &random) }
    let numbers = try index.add(rows)
    for _ in 0..<600 {
      let filter = randomFilter(using: &random)
      let order = RemovalOrder(filter, isSoft: false, askedAt: now)
      let expected = zip(rows, numbers).filter { order.plainlyMatches($0.0) }
      let found = try index.matches(of: filter, askedAt: now).sorted { $0.number < $1.number }
      #expect(found.map(\.number) == expected.map(\.1), "\(filter)")
      #expect(found.map(\.digest) == expected.map(\.0.record.digest))
      #expect(found.map(\.allocated) == expected.map(\.0.allocated))
    }
  }

  @Test func `one pass finds for each filter what it means`() throws {
    var random = SeededGenerator(seed: 4)
    let rows = (1...400).map { randomRow($0, using: &random) }
    let numbers = try index.add(rows)
    let orders = (0..<64).map { _ in
      var filter = randomFilter(using: &random)
      (filter.url, filter.prefix, filter.host, filter.tag) = (nil, nil, nil, nil)
      filter.digest = nil
      var order = RemovalOrder(filter, isSoft: false, askedAt: now)
      order.ceiling = .random(in: 0...400, using: &random)
      return order
    }
    let scan = try index.scan(orders)
    var found = [[UInt32]](repeating: [], count: orders.count)
    var isLast = false
    while !isLast {
      let part = try scan.next(examining: 37)
      for place in orders.indices { found[place] += part.matches[place].map(\.number) }
      isLast = part.isLast
    }
    for (order, found) in zip(orders, found) {
      let expected = zip(rows, numbers).filter {
        order.plainlyMatches($0.0) && $0.1 <= order.ceiling
      }
      #expect(found.sorted() == expected.map(\.1), "\(order.filter)")
    }
  }

  @Test func `a filter means in memory what it means in the file`() throws {
    var random = SeededGenerator(seed: 5)
    let rows = (1...200).map { randomRow($0, using: &random) }
    for _ in 0..<200 {
      let order = RemovalOrder(randomFilter(using: &random), isSoft: false, askedAt: now)
      let wrong = rows.filter { row in
        let (entry, record) = (DiskEntry(row), row.record)
        let key = CacheKey(
          url: CanonicalURL(canonical: record.url), identifier: record.identifier,
          knownDigest: record.digest)
        let expected = order.plainlyMatches(row)
        let untagged = order.means(entry, of: key, tags: nil)
        return order.means(entry, of: key, tags: record.tags) != expected
          || (untagged.map { $0 != expected } ?? (order.filter.tag == nil))
      }
      #expect(wrong.isEmpty, "\(order.filter)")
    }
  }

  private func randomRow(_ digest: UInt64, using random: inout SeededGenerator) -> IndexRow {
    let host = hosts.randomElement(using: &random) ?? ""
    let path = paths.randomElement(using: &random) ?? ""
    return sampleRow(
      digest, url: "http://\(host)/\(path)", host: host,
      identifier: identifiers.randomElement(using: &random) ?? nil,
      tags: (Int.random(in: 0..<8, using: &random) == 0 ? [EntryTags.every] : [])
        + (tags + groups + usersTags).filter { _ in Bool.random(using: &random) },
      storedAt: .random(in: 0...5, using: &random), lastAccess: .random(in: 0...5, using: &random),
      freshUntil: .random(in: 0...5, using: &random))
  }

  private func randomFilter(using random: inout SeededGenerator) -> PurgeFilter {
    var filter = PurgeFilter()
    func sometimes() -> Bool { Int.random(in: 0..<4, using: &random) == 0 }
    let url = "http://\(hosts.randomElement(using: &random) ?? "")/"
    if sometimes() {
      let path = paths.randomElement(using: &random) ?? ""
      filter.url = CanonicalURL(canonical: url + path)
    }
    if Int.random(in: 0..<16, using: &random) == 0 {
      filter.digest = sampleRow(.random(in: 1...400, using: &random)).record.digest
    }
    if sometimes() { filter.identifier = identifiers.randomElement(using: &random) ?? "" }
    if sometimes() {
      filter.prefix = String(url.prefix(Int.random(in: 0...20, using: &random)))
    }
    if sometimes() { filter.host = askedHosts.randomElement(using: &random) }
    if sometimes() { filter.tag = tags.randomElement(using: &random) }
    // Times from -1 to 6.
    if sometimes() { filter.olderThan = .seconds(.random(in: -2...5, using: &random)) }
    if sometimes() { filter.unusedFor = .seconds(.random(in: -2...5, using: &random)) }
    filter.expired = sometimes()
    return filter
  }

  // MARK: Edges

  @Test func `a host in a filter includes its subdomains, an address only itself`() throws {
    let numbers = try index.add(hosts.enumerated().map { sampleRow(UInt64($0), host: $1) })
    func found(_ host: String) throws -> [String] {
      try index.found { $0.host = host }.map { hosts[numbers.firstIndex(of: $0) ?? 0] }
    }
    #expect(try found("example.org") == ["example.org", "www.example.org", "a.b.example.org"])
    #expect(try found("EXAMPLE.org").count == 3)
    #expect(try found("www.example.org") == ["www.example.org"])
    #expect(try found("10.0.0.1") == ["10.0.0.1"])
    #expect(try found("0.0.1") == [])
    #expect(try found("[::1]") == ["[::1]"])
    #expect(try found("org").count == 5)
    #expect(try found("") == [])
    #expect(try found("example") == ["example"])
  }

  @Test func `a prefix in a filter is compared byte by byte, without wildcards`() throws {
    let urls = [
      "http://e/100%", "http://e/100%25", "http://e/100_a", "http://e/100xa", "http://e/e\u{301}",
      "http://e/\u{E9}", "http://e/\u{10FFFF}", "http://e/\u{10FFFF}z", "http://E/", "", "\u{0}",
    ]
    let numbers = try index.add(urls.enumerated().map { sampleRow(UInt64($0), url: $1) })
    for prefix in urls + ["http://e/e", "http://", "h", "z", "\u{10FFFF}"] {
      let expected = zip(urls, numbers).filter { $0.0.utf8.starts(with: prefix.utf8) }.map(\.1)
      #expect(try index.found { $0.prefix = prefix } == expected, "\(prefix)")
    }
  }

  @Test func `an empty identifier in a filter means no identifier`() throws {
    let numbers = try index.add([
      sampleRow(1), sampleRow(2, identifier: ""), sampleRow(3, identifier: "e\u{301}"),
      sampleRow(4, identifier: "\u{E9}"),
    ])
    #expect(try index.found { $0.identifier = "" } == [numbers[0], numbers[1]])
    #expect(try index.found { $0.identifier = "\u{E9}" } == [numbers[3]])
  }

  @Test func `quotes and wildcards in a filter have no special meaning`() throws {
    let tag = "'; DROP TABLE entry; --"
    let number = try index.add([sampleRow(1, tags: [tag, "%"]), sampleRow(2, tags: ["x"])])[0]
    #expect(try index.found { $0.tag = tag } == [number])
    #expect(try index.found { $0.tag = "%" } == [number])
    #expect(try index.found { _ in }.count == 2)
  }

  // MARK: Speed

  @Test(arguments: [
    ("url", "picture_url (url=?)"), ("prefix", "picture_url (url>? AND url<?)"),
    ("host", "picture_host (host>? AND host<?)"), ("address", "picture_host (host=?)"),
    ("tag", "PRIMARY KEY (tag=?)"),
  ])
  func `a filter uses an index of the table where one exists`(_ name: String, _ use: String) throws {
    let filters: [String: (inout PurgeFilter) -> Void] = [
      "url": { $0.url = CanonicalURL(canonical: "http://e/") },
      "prefix": { $0.prefix = "http://e/" },
      "host": { $0.host = "example.org" }, "address": { $0.host = "10.0.0.1" },
      "tag": { $0.tag = "t" },
    ]
    var filter = PurgeFilter()
    filter.expired = true
    filters[name]?(&filter)
    let steps = try plan(of: FilterQuery(RemovalOrder(filter, isSoft: false, askedAt: 1)))
    #expect(steps.first { $0.hasPrefix("SEARCH") }?.contains(use) == true, "\(steps)")
    #expect(!steps.contains { $0.hasPrefix("SCAN") })
  }

  private func plan(of query: FilterQuery) throws -> [String] {
    let statement = try index.connection.prepare("EXPLAIN QUERY PLAN " + query.text)
    query.bind(to: statement)
    var steps: [String] = []
    while try statement.step() {
      for _ in 0..<3 { _ = try statement.integer(Int.self) }
      steps.append(try statement.text())
    }
    return steps
  }
}

private let hosts = [
  "example.org", "www.example.org", "a.b.example.org", "badexample.org", "example", "10.0.0.1",
  "110.0.0.1", "[::1]", "org", "org.example.5",
]
private let askedHosts = hosts + ["b.example.org", "ORG", "", "1", "xample.org"]
private let paths = ["", "a", "a/b", "a%20b", "ä", "a_b"]
private let identifiers: [String?] = [nil, "", "x", "y"]
private let tags = ["red", "big", "old"]
private let groups = ["red", "big"].map(EntryTags.tag(ofGroup:))
private let usersTags = ["red", "re", "redder"].flatMap { [EntryTags.tag($0, of: 1), EntryTags.tag($0, of: 12)] }

/// The moment at which all are asked.
private let now: Int64 = 3

extension RemovalOrder {
  /// As one would write it without an index.
  fileprivate func plainlyMatches(_ row: IndexRow) -> Bool {
    if let digest = filter.digest, row.record.digest != digest { return false }
    if let url = filter.url, row.record.url != url.text { return false }
    if let own = filter.identifier, (row.record.identifier ?? "") != own { return false }
    if let prefix = filter.prefix, !row.record.url.hasPrefix(prefix) { return false }
    if let host = filter.host, !isBelow(host.lowercased(), row.host) { return false }
    if let tag = filter.tag, !hasTag(tag, row.record.tags) { return false }
    if let storedBefore, row.record.storedAt >= storedBefore { return false }
    if let usedBefore, row.lastAccess >= usedBefore { return false }
    if let staleAt, row.record.freshUntil > staleAt { return false }
    return true
  }

  private func hasTag(_ tag: String, _ tags: [String]) -> Bool {
    let wanted = [tag, "", EntryTags.tag(tag, of: 1), EntryTags.tag(tag, of: 12)]
    return tags.contains { wanted.contains($0) || filter.host != nil && $0 == EntryTags.tag(ofGroup: tag) }
  }

  private func isBelow(_ host: String, _ other: String) -> Bool {
    guard let last = host.last else { return false }
    return other == host || !last.isNumber && last != "]" && other.hasSuffix("." + host)
  }
}
