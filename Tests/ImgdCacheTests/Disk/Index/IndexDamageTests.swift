import CSQLite
import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct IndexDamageTests {
  private let sample: SampleIndex

  init() throws { sample = try SampleIndex() }

  /// Fills an index, closes it and gives its bytes.
  private func filled(_ count: UInt64) throws -> [UInt8] {
    let index = try sample.open()
    try index.add((1...count).map { sampleRow($0, identifier: "x", tags: ["t\($0)", "all"]) })
    _ = try index.write { () throws(IndexProblem) in try index.unlinks.retire([1, 2]) { _ in 9 } }
    try index.close(clean: true)
    return try #require(readBytes(sample.path))
  }

  /// Performs every operation; the answers do not matter.
  private func use() {
    _ = problem { _ = try sample.contents() }
    _ = problem {
      let index = try sample.open()
      _ = try index.found { $0.tag = "all" }
      _ = try index.found { $0.prefix = "https://www" }
      try index.add([sampleRow(3), sampleRow(10_000)])
      _ = try index.write { () throws(IndexProblem) in
        try index.entries.touch([(4, 7)])
        try index.entries.markStale([5])
        _ = try index.unlinks.retire([6]) { _ in 0 }
        for order in try index.removals.all() { try index.removals.remove(order.id ?? 0) }
        return try index.unlinks.retire(
          try index.entries.numbers(through: .max, limit: .max)
        ) { _ in 0 }
      }
    }
  }

  private func restore(_ bytes: [UInt8]) throws {
    for part in ["-wal", "-shm"] { unlink(sample.path + part) }
    try overwrite(sample.path, bytes)
  }

  @Test func `a cut index file is noticed wherever it was cut`() throws {
    let whole = try filled(60)
    let expected = try sample.contents()
    let lengths = Set(stride(from: 0, to: whole.count, by: 4001)).union(
      stride(from: 0, to: 120, by: 7)
    ).union([1])
      .union(stride(from: 4096, to: whole.count, by: 8192))
    for length in lengths {
      try restore(Array(whole[..<length]))
      let contents = try? sample.contents()
      // Nothing left is a new file.
      #expect(contents == nil || contents == expected || length == 0, "\(length)")
      try restore(Array(whole[..<length]))
      use()
    }
  }

  @Test func `an index file with a changed byte gives right data or none`() throws {
    let whole = try filled(12)
    let expected = try sample.contents()
    var random = SeededGenerator(seed: 5)
    // All of the head, and then anything.
    let places =
      Array(0..<100) + (0..<120).map { _ in Int.random(in: 0..<whole.count, using: &random) }
    for place in places {
      var bytes = whole
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      try restore(bytes)
      if var contents = try? sample.contents() {
        // The order of last use and the files to be removed are not sealed.
        contents.unlinks = expected.unlinks
        for index in contents.rows.indices where index < expected.rows.count {
          contents.rows[index].lastAccess = expected.rows[index].lastAccess
          contents.entries[index].lastAccess = expected.entries[index].lastAccess
        }
        #expect(contents == expected, "byte \(place)")
      }
      try restore(bytes)
      use()
    }
  }

  @Test(arguments: [
    "UPDATE entry SET digest = x'00'", "UPDATE entry SET digest = zeroblob(17)",
    "UPDATE entry SET bytes = -1", "UPDATE entry SET bytes = 9223372036854775807",
    "UPDATE entry SET width = 2147483648", "UPDATE entry SET plain = 2",
    "UPDATE entry SET fresh_until = 3001", "UPDATE entry SET last_access = -1",
    "UPDATE entry SET seal = 0", "UPDATE picture SET record = x''",
    "UPDATE picture SET record = cast(record || x'00' AS BLOB)", "UPDATE picture SET seal = 0",
    "UPDATE picture SET url = url || 'x'", "UPDATE picture SET url = cast(x'FF' AS TEXT)",
    "UPDATE picture SET suffix = 'x'", "UPDATE picture SET host = 'org'",
    "UPDATE picture SET identifier = 'y'", "UPDATE removal SET soft = 1",
    "UPDATE removal SET ceiling = 2", "UPDATE removal SET tag = NULL",
    "UPDATE removal SET asked_at = 8", "UPDATE removal SET expired = 7",
    "UPDATE picture SET number = 99", "DELETE FROM picture",
    "UPDATE tag SET tag = 'other'", "DELETE FROM tag", "UPDATE entry SET number = 98",
  ])
  func `an index file is damaged when any value was not written by this program`(_ change: String)
    throws
  {
    let index = try sample.open()
    try index.add([sampleRow(1, tags: ["t"])])
    var filter = PurgeFilter()
    filter.tag = "t"
    try index.write { () throws(IndexProblem) in
      _ = try index.removals.add(
        RemovalOrder(filter, isSoft: false, askedAt: 7), ceiling: 1)
    }
    try index.close(clean: true)
    try sample.sql(change)
    #expect(problem { _ = try sample.contents() }?.isDamage == true)
    use()
  }

  @Test func `a kill at any moment of a transaction leaves an undamaged index`() throws {
    let index = try sample.open()
    let copy = try SampleIndex()
    var committed: [UInt64] = []
    for round in 1...40 as ClosedRange<UInt64> {
      try index.write { () throws(IndexProblem) in
        for step in 0..<5 as Range<UInt64> {
          _ = try index.entries.insert(sampleRow(round * 100 + step), retiring: 0)
          // A small cache spills into the log before the end.
          try index.connection.execute("PRAGMA cache_size = 1")
          expectCopy(copy, holds: committed)
        }
      }
      committed += (0..<5).map { round * 100 + $0 }
      expectCopy(copy, holds: committed)
    }
  }

  /// Looks at the files as they are at this moment, as the next process would find them.
  private func expectCopy(_ copy: SampleIndex, holds digests: [UInt64]) {
    do {
      for part in ["-shm", "-wal", ""] {
        unlink(copy.path + part)
        if part != "-shm" { try overwrite(copy.path + part, readBytes(sample.path + part) ?? []) }
      }
      let found = try copy.open()
      #expect(!found.wasClean)
      #expect(
        try found.entries.page(after: 0, limit: .max, examined: .max).rows.count == digests.count)
      #expect(try found.entries.entries(after: 0, limit: .max).map(\.digest.low) == digests)
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test func `a log that was cut short leaves an undamaged index`() throws {
    let index = try sample.open()
    try index.close(clean: true)
    let writer = try sample.open()
    for digest in 1...10 as ClosedRange<UInt64> { try writer.add([sampleRow(digest)]) }
    let (whole, log) = (readBytes(sample.path) ?? [], readBytes(sample.path + "-wal") ?? [])
    let copy = try SampleIndex()
    var counts = Set<Int>()
    for length in Array(stride(from: 0, to: log.count, by: 517)) + [log.count] {
      unlink(copy.path + "-shm")
      try overwrite(copy.path, whole)
      try overwrite(copy.path + "-wal", Array(log[..<length]))
      let digests = try copy.contents().entries.map(\.digest.low)
      #expect(digests == Array((1...10).prefix(digests.count)))
      counts.insert(digests.count)
    }
    #expect(counts.count == 11)
  }
}

struct IndexFullDiskTests {
  @Test(.enabled(if: getuid() == 0))
  func `an index on a full disk reports it, keeps its rows, and works again once there is space`()
    throws
  {
    let sample = try SampleIndex()
    guard mount("none", sample.directory, "tmpfs", 0, "size=1m") == 0 else { return }
    defer { umount2(sample.directory, 2) }
    let index = try sample.open()
    var stored = 0
    var trouble: IndexProblem?
    while trouble == nil, stored < 10_000 {
      trouble = problem { try index.add([sampleRow(UInt64(stored))]) }
      if trouble == nil { stored += 1 }
    }
    #expect(trouble?.systemErrno == ENOSPC)
    #expect(stored > 10)
    #expect(try index.entries.entries(after: 0, limit: .max).count == stored)

    #expect(mount("none", sample.directory, "tmpfs", UInt(MS_REMOUNT), "size=8m") == 0)
    try index.add([sampleRow(20_000)])
    try index.close(clean: true)
    let again = try sample.open()
    #expect(again.wasClean)
    #expect(try again.entries.entries(after: 0, limit: .max).count == stored + 1)
  }
}
