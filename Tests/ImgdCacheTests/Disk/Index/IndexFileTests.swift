import Testing

@testable import ImgdCache

@Suite("The index file")
struct IndexFileTests {
  private let sample: SampleIndex
  private let index: IndexFile

  init() throws {
    sample = try SampleIndex()
    index = try sample.open()
  }

  private func stored(_ row: IndexRow, as number: UInt32) -> IndexRow {
    var row = row
    row.record.number = number
    return row
  }

  // MARK: Entries

  @Test("gives back every value as it was, however empty or odd", arguments: oddRows)
  func roundTrip(_ row: IndexRow) throws {
    let number = try index.add([row])[0]
    let expected = stored(row, as: number)
    #expect(try index.row(number: number) == expected)
    #expect(try index.records(after: 0, limit: 9) == [expected.record])
    let (high, low) = (row.record.digestHigh, row.record.digestLow)
    #expect(try index.record(digestHigh: high, low: low) == expected.record)
    #expect(try index.record(digestHigh: high, low: low &+ 1) == nil)
  }

  @Test("remembers everything when it is opened again")
  func reopening() throws {
    let rows = (1...50).map { sampleRow($0, tags: ["a", "b\($0 % 7)"]) }
    let numbers = try index.add(rows)
    let doomed = try index.write { () throws(IndexProblem) in
      try index.doom([numbers[3]]) { _ in 77 }
    }
    try index.close(clean: true)
    let contents = try sample.contents()
    #expect(contents.doomed == doomed)
    let expected = zip(rows, numbers).map { stored($0, as: $1) }.filter {
      $0.record.number != numbers[3]
    }
    #expect(contents.rows == expected)
    #expect(contents.records == expected.map(\.record))
  }

  @Test("never gives a number twice, even when the last entry is gone")
  func numbersAreNew() throws {
    let first = try index.add([sampleRow(1)])[0]
    _ = try index.write { () throws(IndexProblem) in
      _ = try index.doom([first]) { _ in 0 }
      try index.forget([first])
    }
    try index.close(clean: true)
    #expect(try sample.open().add([sampleRow(1)])[0] > first)
  }

  @Test("counts up to the last number, and begins anew behind it")
  func lastNumber() throws {
    try index.add([sampleRow(1)])
    try index.close(clean: true)
    try sample.sql("UPDATE sqlite_sequence SET seq = 4294967294")
    let again = try sample.open()
    #expect(try again.add([sampleRow(2)]) == [4_294_967_295])
    #expect(try again.row(number: .max)?.url == sampleRow(2).url)
    #expect(try again.records(after: .max, limit: 5).isEmpty)
    #expect(problem { try again.add([sampleRow(3)]) }?.isDamage == true)
    #expect(try again.records(after: 0, limit: 5).count == 2)
  }

  @Test("replaces an entry of the same digest, whose file is then doomed")
  func replacing() throws {
    let old = sampleRow(1, tags: ["old"])
    let first = try index.add([old])[0]
    let (second, retired) = try index.write { () throws(IndexProblem) in
      try index.insert(sampleRow(1, url: "http://example.org/new", tags: ["new"]), retiring: 99)
    }
    #expect(second > first)
    let expected = DoomedFile(
      number: first, digestHigh: old.record.digestHigh, digestLow: old.record.digestLow,
      suffix: "jpg", keepUntil: 99)
    #expect(retired == expected)
    #expect(try index.doomed() == [expected])
    #expect(try index.row(number: first) == nil)
    #expect(try index.records(after: 0, limit: 9).map(\.number) == [second])
    #expect(try index.found { $0.tag = "old" } == [])
    #expect(try index.found { $0.tag = "new" } == [second])
  }

  @Test("renews what an answer says and keeps what the file is")
  func renewing() throws {
    let old = sampleRow(1, identifier: "x", tags: ["a", "b"])
    let number = try index.add([old])[0]
    var row = stored(old, as: number)
    row.url = "http://elsewhere.example/"
    row.suffix = "png"
    row.record.bytes = 1
    row.record.freshUntil = 9000
    row.record.storedAt = 4000
    row.status = 203
    row.headers = [1, 2, 3]
    row.finalURL = "http://example.org/final"
    row.ifErrorMs = 12
    row.varying = [9]
    row.tags = ["c", "b"]
    #expect(try index.write { () throws(IndexProblem) in try index.renew(row) })

    var expected = row
    (expected.url, expected.suffix, expected.record.bytes) = (old.url, "jpg", old.record.bytes)
    expected.tags = ["b", "c"]
    #expect(try index.row(number: number) == expected)
    #expect(try index.found { $0.tag = "a" } == [])
    row.record.number += 1
    #expect(try !index.write { () throws(IndexProblem) in try index.renew(row) })
  }

  @Test("notes uses and staleness, and passes over what is gone")
  func touching() throws {
    let numbers = try index.add([sampleRow(1), sampleRow(2)])
    try index.write { () throws(IndexProblem) in
      try index.touch([(numbers[0], 5000), (999, 1)])
      try index.markStale([numbers[1], 999])
    }
    let records = try index.records(after: 0, limit: 9)
    #expect(records.map(\.lastAccess) == [5000, 2000])
    #expect(records.map(\.freshUntil) == [3000, 0])
    #expect(try index.row(number: numbers[1])?.record.freshUntil == 0)
  }

  @Test("brings numbers beyond reason into range, so that they can be read back")
  func unreasonable() throws {
    var row = sampleRow(1, storedAt: .min, lastAccess: -1, freshUntil: .max)
    (row.lifetimeMs, row.ifErrorMs, row.record.bytes) = (.max, -1, .max)
    let number = try index.add([row])[0]
    let read = try #require(try index.row(number: number))
    #expect(read.record.storedAt == 0)
    #expect(read.record.freshUntil == 1 << 40)
    #expect(read.record.bytes == 1 << 40)
    #expect(read.lifetimeMs == 1 << 40)
    #expect(read.ifErrorMs == 0)
  }

  // MARK: Removal

  @Test("dooms entries and forgets their files")
  func dooming() throws {
    let numbers = try index.add((1...5).map { sampleRow($0, tags: ["t"]) })
    let doomed = try index.write { () throws(IndexProblem) in
      try index.doom([numbers[1], 999, numbers[4], numbers[1]]) { Int64($0) * 10 }
    }
    #expect(doomed.map(\.number) == [numbers[1], numbers[4]])
    #expect(doomed.map(\.keepUntil) == [Int64(numbers[1]) * 10, Int64(numbers[4]) * 10])
    #expect(doomed.map(\.digestLow) == [2, 5])
    #expect(try index.doomed() == doomed)
    #expect(try index.found { _ in } == [numbers[0], numbers[2], numbers[3]])
    #expect(try index.found { $0.tag = "t" }.count == 3)
    try index.write { () throws(IndexProblem) in try index.forget([numbers[1], 999]) }
    #expect(try index.doomed() == [doomed[1]])
  }

  @Test("notes how far everything is gone, and never takes that back")
  func clearing() throws {
    let numbers = try index.add((1...5 as ClosedRange<UInt64>).map { sampleRow($0) })
    #expect(try index.cleared() == 0)
    #expect(try index.lastNumber() == numbers[4])
    for (through, cleared) in [(2, 2), (4, 4), (3, 4)] as [(Int, Int)] {
      try index.write { () throws(IndexProblem) in
        try index.clear(through: numbers[through - 1])
      }
      #expect(try index.cleared() == numbers[cleared - 1])
    }
    #expect(try index.numbers(through: try index.cleared(), limit: 3) == Array(numbers[0..<3]))
    #expect(try index.numbers(through: try index.cleared(), limit: 9) == Array(numbers[0..<4]))
  }

  @Test("says file by file what has to be removed by when")
  func dueFiles() throws {
    let numbers = try index.add((1...5).map { sampleRow($0) })
    let times: [Int64] = [5, 100, 7, 200, 7]
    _ = try index.write { () throws(IndexProblem) in
      try index.doom(numbers) { times[Int($0 - numbers[0])] }
    }
    func due(_ after: UInt32, _ wall: Int64, _ limit: Int) throws -> [UInt32] {
      try index.doomed(after: after, dueBy: wall, limit: limit).map(\.number)
    }
    #expect(try due(0, 7, 9) == [numbers[0], numbers[2], numbers[4]])
    #expect(try due(0, 7, 2) == [numbers[0], numbers[2]])
    #expect(try due(numbers[2], 7, 2) == [numbers[4]])
    #expect(try due(0, 4, 9) == [])
    #expect(try index.nextDoom(after: 7) == 100)
    #expect(try index.nextDoom(after: 100) == 200)
    #expect(try index.nextDoom(after: 200) == nil)
    #expect(try index.isDoomed(numbers[0], digestHigh: sampleRow(1).record.digestHigh, low: 1))
    #expect(try !index.isDoomed(numbers[0], digestHigh: sampleRow(1).record.digestHigh, low: 2))
    #expect(try !index.isDoomed(999, digestHigh: sampleRow(1).record.digestHigh, low: 1))
  }

  @Test("is searched in parts, and what comes meanwhile is not meant")
  func searching() throws {
    let numbers = try index.add((1...7).map { sampleRow($0, tags: $0 == 3 ? [] : ["t"]) })
    var filter = IndexFilter()
    filter.tag = "t"
    let search = try index.search(filter)
    var found: [UInt32] = []
    var parts = 0
    var isLast = false
    while !isLast {
      let part = try search.next(examining: 2)
      (found, parts, isLast) = (found + part.matches.map(\.number), parts + 1, part.isLast)
      try index.add([sampleRow(UInt64(100 + parts), tags: ["t"])])
      _ = try index.write { () throws(IndexProblem) in
        try index.doom(part.matches.map(\.number)) { _ in 0 }
      }
    }
    #expect(found.sorted() == numbers.filter { $0 != numbers[2] })
    #expect(parts >= 3)
    #expect(try index.records(after: 0, limit: 99).count == 1 + parts)
  }

  // MARK: Pages

  @Test("is read page by page in the order of insertion")
  func pages() throws {
    let rows = (1...10).map { sampleRow($0, host: $0 % 2 == 0 ? "even.example" : "odd.example") }
    let numbers = try index.add(rows)
    func page(_ after: UInt32, _ limit: Int, _ most: Int, _ prefix: String? = nil) throws
      -> [UInt32]
    {
      let page = try index.page(after: after, limit: limit, examined: most, prefix: prefix)
      return page.rows.map(\.record.number) + [page.next ?? 0]
    }
    #expect(try page(0, 3, 100) == numbers[0..<3] + [numbers[2]])
    #expect(try page(numbers[2], 100, 100) == numbers[3...] + [0])
    #expect(try page(numbers[6], 3, 100) == numbers[7...] + [0])
    #expect(try page(0, 100, 4, "https://even.") == [numbers[1], numbers[3], numbers[3]])
    #expect(try page(0, 100, 10, "https://even.").last == 0)
    #expect(try page(0, 1, 100, "https://odd.") == [numbers[0], numbers[0]])
    #expect(try page(0, 100, 100, "nothing") == [0])
    #expect(try page(.max, 1, 1) == [0])
    #expect(try index.records(after: numbers[3], limit: 2).map(\.number) == Array(numbers[4..<6]))
    #expect(try index.records(after: 0, limit: 0).isEmpty)
  }

  // MARK: Transactions

  @Test("undoes everything when one change fails")
  func undoing() throws {
    struct Failure: Error {}
    try index.add([sampleRow(1)])
    let failure = problem {
      try index.write { () throws(IndexProblem) in
        _ = try index.insert(sampleRow(2), retiring: 0)
        try index.clear(through: 2)
        _ = try index.doom([1, 2]) { _ in 0 }
        throw .busy
      }
    }
    #expect(failure?.isBusy == true)
    #expect(try index.records(after: 0, limit: 9).map(\.digestLow) == [1])
    #expect(try index.doomed().isEmpty)
    #expect(try index.cleared() == 0)
    try index.add([sampleRow(3)])
  }
}

private let oddRows: [IndexRow] = [
  sampleRow(1),
  odd { $0 = sampleRow(0, url: "", host: "") },
  odd {
    $0.identifier = ""
    $0.finalURL = ""
    $0.headers = []
    $0.suffix = ""
  },
  odd {
    $0.identifier = "ünïcode 🐈 e\u{301}"
    $0.finalURL = "http://example.org/%00\u{0}x"
    $0.headers = [UInt8](repeating: 0xFF, count: 70_000)
    $0.varying = [0, 1, 0]
    $0.ifErrorMs = 0
    $0.tags = ["", "A", "a", "e\u{301}", "\u{E9}"]
  },
  odd {
    $0.record.digestHigh = .max
    $0.record.digestLow = .max
    $0.checksumHigh = 1 << 63
    $0.record.width = .min
    $0.record.height = .max
    $0.record.frames = -1
    $0.record.flags = .max
    $0.record.format = .max
    $0.status = -7
    $0.freshnessFlags = .max
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
