import Testing

@testable import ImgdCache

struct IndexFileTests {
  private let sample: SampleIndex
  private let index: IndexFile

  init() throws {
    sample = try SampleIndex()
    index = try sample.open()
  }

  private func stored(_ row: IndexRow, as number: UInt32) -> IndexRow {
    var row = row
    row.number = number
    return row
  }

  // MARK: Entries

  @Test(arguments: oddRows)
  func `the index file returns every value as it was written, even empty or odd ones`(
    _ row: IndexRow
  ) throws {
    let number = try index.add([row])[0]
    let expected = stored(row, as: number)
    #expect(try index.entries.row(number: number) == expected)
    #expect(try index.entries.entries(after: 0, limit: 9) == [DiskEntry(expected)])
    let digest = row.record.digest
    #expect(try index.entries.entry(of: digest) == DiskEntry(expected))
    let other = KeyDigest(high: digest.high, low: digest.low &+ 1)
    #expect(try index.entries.entry(of: other) == nil)
  }

  @Test func `a reopened index file has all its rows`() throws {
    let rows = (1...50).map { sampleRow($0, tags: ["a", "b\($0 % 7)"]) }
    let numbers = try index.add(rows)
    let retired = try index.write { () throws(IndexProblem) in
      try index.unlinks.retire([numbers[3]]) { _ in 77 }
    }
    try index.close(clean: true)
    let contents = try sample.contents()
    #expect(contents.unlinks == retired)
    let expected = zip(rows, numbers).map { stored($0, as: $1) }.filter {
      $0.number != numbers[3]
    }
    #expect(contents.rows == expected)
    #expect(contents.entries == expected.map(DiskEntry.init))
  }

  @Test func `a number is never given twice, even when the last entry is gone`() throws {
    let first = try index.add([sampleRow(1)])[0]
    _ = try index.write { () throws(IndexProblem) in
      _ = try index.unlinks.retire([first]) { _ in 0 }
      try index.unlinks.forget([first])
    }
    try index.close(clean: true)
    #expect(try sample.open().add([sampleRow(1)])[0] > first)
  }

  @Test func `an index that has given its last number counts as damaged`() throws {
    try index.add([sampleRow(1)])
    try index.close(clean: true)
    try sample.sql("UPDATE sqlite_sequence SET seq = 4294967294")
    let again = try sample.open()
    #expect(try again.add([sampleRow(2)]) == [4_294_967_295])
    #expect(try again.entries.row(number: .max)?.record.url == sampleRow(2).record.url)
    #expect(try again.entries.entries(after: .max, limit: 5).isEmpty)
    #expect(problem { try again.add([sampleRow(3)]) }?.isDamage == true)
    #expect(try again.entries.entries(after: 0, limit: 5).count == 2)
  }

  @Test
  func `an entry of the same digest replaces the old one, whose file becomes a pending unlink`()
    throws
  {
    let old = sampleRow(1, tags: ["old"])
    let first = try index.add([old])[0]
    let added = try index.write { () throws(IndexProblem) in
      try index.entries.insert(
        sampleRow(1, url: "http://example.org/new", tags: ["new"]), retiring: 99)
    }
    let second = added.number
    #expect(second > first)
    let expected = PendingUnlink(
      number: first, digest: old.record.digest, suffix: "jpg", keepUntil: 99)
    #expect(added.retired == expected)
    #expect(try index.unlinks.due() == [expected])
    #expect(try index.entries.row(number: first) == nil)
    #expect(try index.entries.entries(after: 0, limit: 9).map(\.number) == [second])
    #expect(try index.found { $0.tag = "old" } == [])
    #expect(try index.found { $0.tag = "new" } == [second])
  }

  @Test func `a renewed row has the new response and the old file`() throws {
    let old = sampleRow(1, identifier: "x", tags: ["a", "b"])
    let number = try index.add([old])[0]
    var row = stored(old, as: number)
    row.record.url = "http://elsewhere.example/"
    row.suffix = "png"
    row.record.bytes = 1
    row.record.freshUntil = 9000
    row.record.storedAt = 4000
    row.record.status = 203
    row.record.headers = [1, 2, 3]
    row.record.redirectTarget = "http://example.org/final"
    row.record.ifErrorMs = 12
    row.record.varying = [9]
    row.record.tags = ["c", "b"]
    #expect(try index.write { () throws(IndexProblem) in try index.entries.renew(row) })

    var expected = row
    (expected.record.url, expected.suffix) = (old.record.url, "jpg")
    expected.record.bytes = old.record.bytes
    expected.record.tags = ["b", "c"]
    #expect(try index.entries.row(number: number) == expected)
    #expect(try index.found { $0.tag = "a" } == [])
    row.number += 1
    #expect(try !index.write { () throws(IndexProblem) in try index.entries.renew(row) })
  }

  @Test func `uses and staleness are recorded, and missing rows are skipped`() throws {
    let numbers = try index.add([sampleRow(1), sampleRow(2)])
    try index.write { () throws(IndexProblem) in
      try index.entries.touch([(numbers[0], 5000), (999, 1)])
      try index.entries.markStale([numbers[1], 999])
    }
    let records = try index.entries.entries(after: 0, limit: 9)
    #expect(records.map(\.lastAccess) == [5000, 2000])
    #expect(records.map(\.freshUntil) == [3000, 0])
    #expect(try index.entries.row(number: numbers[1])?.record.freshUntil == 0)
  }

  @Test func `excessive numbers are clamped so that they can be read back`() throws {
    var row = sampleRow(1, storedAt: .min, lastAccess: -1, freshUntil: .max)
    (row.record.lifetimeMs, row.record.ifErrorMs, row.record.bytes) = (.max, -1, .max)
    let number = try index.add([row])[0]
    let read = try #require(try index.entries.row(number: number))
    #expect(read.record.storedAt == 0)
    #expect(read.record.freshUntil == 1 << 40)
    #expect(try index.entries.entry(of: row.record.digest)?.freshUntil == .max)
    #expect(read.record.bytes == 1 << 40)
    #expect(read.record.lifetimeMs == 1 << 40)
    #expect(read.record.ifErrorMs == 0)
  }

  // MARK: Removal

  @Test func `entries become pending unlinks, and those are removed`() throws {
    let numbers = try index.add((1...5).map { sampleRow($0, tags: ["t"]) })
    let retired = try index.write { () throws(IndexProblem) in
      try index.unlinks.retire([numbers[1], 999, numbers[4], numbers[1]]) { Int64($0) * 10 }
    }
    #expect(retired.map(\.number) == [numbers[1], numbers[4]])
    #expect(retired.map(\.keepUntil) == [Int64(numbers[1]) * 10, Int64(numbers[4]) * 10])
    #expect(retired.map(\.digest.low) == [2, 5])
    #expect(try index.unlinks.due() == retired)
    #expect(try index.found { _ in } == [numbers[0], numbers[2], numbers[3]])
    #expect(try index.found { $0.tag = "t" }.count == 3)
    try index.write { () throws(IndexProblem) in try index.unlinks.forget([numbers[1], 999]) }
    #expect(try index.unlinks.due() == [retired[1]])
  }

  @Test(arguments: orders)
  func `a purge is kept with all its conditions until it is finished`(_ order: RemovalOrder) throws {
    try index.add([sampleRow(1)])
    let (first, second) = try index.write { () throws(IndexProblem) in
      (try index.removals.add(order, ceiling: 1), try index.removals.add(order, ceiling: 7))
    }
    #expect(first.ceiling == 1 && second.ceiling == 7 && first.id != second.id)
    try index.close(clean: false)
    let again = try sample.open()
    #expect(try again.removals.all() == [first, second])
    #expect(try again.matches(of: order.filter, askedAt: order.askedAt).count < 2)
    let id = try #require(first.id)
    try again.write { () throws(IndexProblem) in try again.removals.remove(id) }
    #expect(try again.removals.all() == [second])
  }

  @Test func `the last number and the rows up to a number are known`() throws {
    #expect(try index.entries.lastNumber() == 0)
    let numbers = try index.add((1...5 as ClosedRange<UInt64>).map { sampleRow($0) })
    #expect(try index.entries.lastNumber() == numbers[4])
    #expect(try index.entries.numbers(through: numbers[3], limit: 3) == Array(numbers[0..<3]))
    #expect(try index.entries.numbers(through: numbers[3], limit: 9) == Array(numbers[0..<4]))
  }

  @Test func `pending unlinks are listed by their deadlines`() throws {
    let numbers = try index.add((1...5).map { sampleRow($0) })
    let times: [Int64] = [5, 100, 7, 200, 7]
    _ = try index.write { () throws(IndexProblem) in
      try index.unlinks.retire(numbers) { times[Int($0 - numbers[0])] }
    }
    func due(_ after: UInt32, _ wall: Int64, _ limit: Int) throws -> [UInt32] {
      try index.unlinks.due(after: after, by: wall, limit: limit).map(\.number)
    }
    #expect(try due(0, 7, 9) == [numbers[0], numbers[2], numbers[4]])
    #expect(try due(0, 7, 2) == [numbers[0], numbers[2]])
    #expect(try due(numbers[2], 7, 2) == [numbers[4]])
    #expect(try due(0, 4, 9) == [])
    #expect(try index.unlinks.next(after: 7) == 100)
    #expect(try index.unlinks.next(after: 100) == 200)
    #expect(try index.unlinks.next(after: 200) == nil)
    #expect(try index.unlinks.contains(numbers[0], sampleRow(1).record.digest))
    #expect(try !index.unlinks.contains(numbers[0], sampleRow(2).record.digest))
    #expect(try !index.unlinks.contains(999, sampleRow(1).record.digest))
  }

  @Test func `a search runs in parts and ignores rows added meanwhile`() throws {
    let numbers = try index.add((1...7).map { sampleRow($0, tags: $0 == 3 ? [] : ["t"]) })
    var filter = PurgeFilter()
    filter.tag = "t"
    var order = RemovalOrder(filter, isSoft: false, askedAt: 0)
    order.ceiling = try index.entries.lastNumber()
    let search = try index.search(order)
    var found: [UInt32] = []
    var parts = 0
    var isLast = false
    while !isLast {
      let part = try search.next(examining: 2)
      (found, parts, isLast) = (found + part.matches.map(\.number), parts + 1, part.isLast)
      try index.add([sampleRow(UInt64(100 + parts), tags: ["t"])])
      _ = try index.write { () throws(IndexProblem) in
        try index.unlinks.retire(part.matches.map(\.number)) { _ in 0 }
      }
    }
    #expect(found.sorted() == numbers.filter { $0 != numbers[2] })
    #expect(parts >= 3)
    #expect(try index.entries.entries(after: 0, limit: 99).count == 1 + parts)
  }

  // MARK: Pages

  @Test func `rows are read page by page in the order of insertion`() throws {
    let rows = (1...10).map { sampleRow($0, host: $0 % 2 == 0 ? "even.example" : "odd.example") }
    let numbers = try index.add(rows)
    func page(_ after: UInt32, _ limit: Int, _ most: Int, _ prefix: String? = nil) throws
      -> [UInt32]
    {
      var names = PurgeFilter()
      names.prefix = prefix
      let page = try index.entries.page(after: after, limit: limit, examined: most, of: names)
      return page.rows.map(\.number) + [page.next ?? 0]
    }
    #expect(try page(0, 3, 100) == numbers[0..<3] + [numbers[2]])
    #expect(try page(numbers[2], 100, 100) == numbers[3...] + [0])
    #expect(try page(numbers[6], 3, 100) == numbers[7...] + [0])
    #expect(try page(0, 100, 4, "https://even.") == [numbers[1], numbers[3], numbers[3]])
    #expect(try page(0, 100, 10, "https://even.").last == 0)
    #expect(try page(0, 1, 100, "https://odd.") == [numbers[0], numbers[0]])
    #expect(try page(0, 100, 100, "nothing") == [0])
    #expect(try page(.max, 1, 1) == [0])
    #expect(
      try index.entries.entries(after: numbers[3], limit: 2).map(\.number) == Array(numbers[4..<6]))
    #expect(try index.entries.entries(after: 0, limit: 0).isEmpty)
  }

  // MARK: Transactions

  @Test func `all changes are undone when one of them fails`() throws {
    struct Failure: Error {}
    try index.add([sampleRow(1)])
    let failure = problem {
      try index.write { () throws(IndexProblem) in
        _ = try index.entries.insert(sampleRow(2), retiring: 0)
        _ = try index.removals.add(orders[0], ceiling: 2)
        _ = try index.unlinks.retire([1, 2]) { _ in 0 }
        throw .busy
      }
    }
    #expect(failure?.isBusy == true)
    #expect(try index.entries.entries(after: 0, limit: 9).map(\.digest.low) == [1])
    #expect(try index.unlinks.due().isEmpty)
    #expect(try index.removals.all() == [])
    try index.add([sampleRow(3)])
  }
}

private let orders: [RemovalOrder] = [
  RemovalOrder(PurgeFilter(), isSoft: false, askedAt: 1_800_000_000, keepUntil: 1_800_000_090),
  order(isSoft: true) { $0.url = CanonicalURL(canonical: "https://www.example.org/a") },
  order { $0.digest = KeyDigest(high: 1, low: .max) },
  order {
    $0.identifier = ""
    $0.tag = "e\u{301}"
  },
  order {
    $0.prefix = "https://"
    $0.host = "example.org"
  },
  order {
    $0.olderThan = .seconds(60)
    $0.unusedFor = .zero
    $0.expired = true
  },
]

private func order(
  isSoft: Bool = false, _ change: (inout PurgeFilter) -> Void
) -> RemovalOrder {
  var filter = PurgeFilter()
  change(&filter)
  return RemovalOrder(filter, isSoft: isSoft, askedAt: 1_000)
}

private let oddRows: [IndexRow] = [
  sampleRow(1),
  odd { $0 = sampleRow(0, url: "", host: "") },
  odd {
    $0.record.identifier = ""
    $0.record.redirectTarget = ""
    $0.record.headers = []
    $0.suffix = ""
  },
  odd {
    $0.record.identifier = "ünïcode 🐈 e\u{301}"
    $0.record.redirectTarget = "http://example.org/%00\u{0}x"
    $0.record.headers = [UInt8](repeating: 0xFF, count: 70_000)
    $0.record.varying = [0, 1, 0]
    $0.record.ifErrorMs = 0
    $0.record.variant = KeyVariant(high: .max, low: 0)
    $0.record.tags = ["", "A", "a", "e\u{301}", "\u{E9}"]
  },
  odd {
    $0.record.digest = KeyDigest(high: .max, low: .max)
    $0.record.checksum = BodyChecksum(1 << 63)
    $0.record.facts = ImageFacts(
      format: .max, width: .min, height: .max, frames: -1, orientation: 255)
    $0.record.status = -7
    $0.record.flags = RecordFlags(rawValue: 127)
    $0.record.owner = 4_294_967_294
  },
  odd { $0.host = "[2001:db8::1]" },
  odd { $0.host = "10.0.0.1" },
  odd { $0.host = "a..b." },
  odd { $0.host = "." },
]

private func odd(_ change: (inout IndexRow) -> Void) -> IndexRow {
  var row = sampleRow(1)
  change(&row)
  return row
}
