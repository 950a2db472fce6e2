import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdCache

@Suite struct AnswerRowsTests {
  private let sample: SampleIndex

  init() throws { sample = try SampleIndex() }

  private func write(
    _ index: IndexFile, _ body: (AnswerRows) throws(IndexProblem) -> Void
  ) throws(IndexProblem) {
    try index.write { () throws(IndexProblem) in try body(index.answers) }
  }

  /// The URLs of all sound rows, in the order of their digests.
  private func found(_ index: IndexFile) throws -> [String] {
    try index.answers.rows(after: [], limit: .max).compactMap { $0.answer?.record.url }
  }

  private func inOrder(_ urls: [String]) -> [String] {
    urls.sorted { left, right in
      let digests = [left, right].map { KeyDigest(url: $0, identifier: nil).bytes }
      return digests[0].lexicographicallyPrecedes(digests[1])
    }
  }

  // MARK: Rows

  @Test func `a row is written, replaced and removed`() throws {
    let index = try sample.open()
    let records = (0..<9).map { answerRecord(url($0)) }
    try write(index) { (rows) throws(IndexProblem) in for record in records { try rows.put(record) }
    }
    #expect(try found(index) == inOrder((0..<9).map { url($0) }))
    var other = records[3]
    other.status = 410
    try write(index) { (rows) throws(IndexProblem) in
      try rows.put(other)
      try rows.remove(records[4].digest.bytes)
      try rows.remove(records[4].digest.bytes)
    }
    let answers = try index.answers.rows(after: [], limit: .max).compactMap(\.answer)
    #expect(answers.count == 8)
    #expect(answers.first { $0.record.digest == other.digest }?.record.status == 410)
    try write(index) { (rows) throws(IndexProblem) in try rows.removeAll() }
    #expect(try found(index) == [])
  }

  @Test func `rows are read on behind a key`() throws {
    let index = try sample.open()
    try write(index) { (rows) throws(IndexProblem) in
      for number in 0..<9 { try rows.put(answerRecord(url(number))) }
    }
    var (keys, last): ([[UInt8]], [UInt8]) = ([], [])
    while case let part = try index.answers.rows(after: last, limit: 4), let row = part.last {
      #expect(part.count <= 4)
      keys += part.map(\.key)
      last = row.key
    }
    #expect(
      keys == inOrder((0..<9).map { url($0) }).map { KeyDigest(url: $0, identifier: nil).bytes })
  }

  // MARK: Damage

  @Test(arguments: [
    "UPDATE answer SET record = x''", "UPDATE answer SET record = zeroblob(2000000)",
    "UPDATE answer SET record = cast(record || x'00' AS BLOB)",
    "UPDATE answer SET record = substr(record, 1, length(record) - 1)",
    "UPDATE answer SET digest = x'00'", "UPDATE answer SET digest = zeroblob(16)",
    "UPDATE answer SET digest = zeroblob(17)",
  ])
  func `a row that this program has not written has no answer`(_ change: String) throws {
    let index = try sample.open()
    let (damaged, sound) = (answerRecord(url(0)), answerRecord(url(1)))
    try write(index) { (rows) throws(IndexProblem) in try rows.put(damaged) }
    try index.close(clean: true)
    try sample.sql(change)
    let again = try sample.open()
    try write(again) { (rows) throws(IndexProblem) in try rows.put(sound) }
    let rows = try again.answers.rows(after: [], limit: .max)
    #expect(rows.count == 2)
    #expect(try found(again) == [url(1)])
    try write(again) { (answers) throws(IndexProblem) in
      for row in rows where row.answer == nil { try answers.remove(row.key) }
    }
    #expect(try again.answers.rows(after: [], limit: .max).count == 1)
  }

  @Test func `an index file with a changed byte gives right answers or none`() throws {
    let index = try sample.open()
    let records = (0..<20).map { answerRecord(url($0), tags: ["t"]) }
    try write(index) { (rows) throws(IndexProblem) in for record in records { try rows.put(record) }
    }
    try index.close(clean: true)
    let whole = try #require(readBytes(sample.path))
    var random = SeededGenerator(seed: 3)
    for _ in 0..<300 {
      var bytes = whole
      let place = Int.random(in: 0..<whole.count, using: &random)
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      for part in ["-wal", "-shm"] { unlink(sample.path + part) }
      try overwrite(sample.path, bytes)
      guard let index = try? sample.open() else { continue }
      let rows = (try? index.answers.rows(after: [], limit: .max)) ?? []
      for case let answer? in rows.map(\.answer) {
        #expect(records.contains(answer.record), "byte \(place)")
      }
      _ = problem {
        try write(index) { (answers) throws(IndexProblem) in
          for row in rows { try answers.remove(row.key) }
          try answers.put(records[0])
        }
      }
    }
  }

  @Test func `a record of another key, or of a picture, is no answer`() throws {
    var records = (0..<3).map { answerRecord(url($0)) }
    records[0].url = url(7)
    records[1].bytes = 1
    records[2].identifier = "x"
    for record in records {
      let encoded = try #require(RecordCodec.encode(record))
      #expect(StoredAnswer(encoded, under: record.digest.bytes) == nil)
    }
    var spelt = answerRecord("https://EXAMPLE.org/")
    spelt.digest = KeyDigest(url: "https://example.org/", identifier: nil)
    let encoded = try #require(RecordCodec.encode(spelt))
    #expect(StoredAnswer(encoded, under: spelt.digest.bytes) == nil)
  }

  // MARK: Bounds

  @Test func `there are no more rows than there may be`() throws {
    let index = try sample.open()
    try index.connection.execute(
      """
      WITH RECURSIVE number(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < 131071)
      INSERT INTO answer SELECT cast(format('%016d', n) AS BLOB), x'' FROM number
      """)
    _ = try index.answers.countedRows(after: [], limit: .max)
    let records = (0..<2).map { answerRecord(url($0)) }
    for record in records {
      try write(index) { (rows) throws(IndexProblem) in try rows.put(record) }
    }
    #expect(index.answers.tally.rows == AnswerRows.mostRows)
    #expect(try found(index) == [url(0)])
    // In the place of an earlier one there is room.
    try write(index) { (rows) throws(IndexProblem) in try rows.put(records[0]) }
    #expect(try found(index) == [url(0)])
    try write(index) { (rows) throws(IndexProblem) in
      try rows.remove(records[0].digest.bytes)
      try rows.put(records[1])
    }
    #expect(try found(index) == [url(1)])
  }

  @Test func `there are no more bytes than there may be`() throws {
    let index = try sample.open()
    _ = try index.answers.countedRows(after: [], limit: 1)
    for number in 0..<70 {
      var record = answerRecord(url(number))
      record.tags = [String(repeating: "t", count: 1_000_000)]
      try write(index) { (rows) throws(IndexProblem) in try rows.put(record) }
    }
    #expect(index.answers.tally.rows == 67)
    #expect(index.answers.tally.bytes <= AnswerRows.mostBytes)
    // What cannot be written in place of an earlier one takes it away all the same.
    try write(index) { (rows) throws(IndexProblem) in try rows.put(answerRecord(url(99))) }
    var larger = answerRecord(url(99))
    larger.tags = [String(repeating: "t", count: 1_000_000)]
    try write(index) { (rows) throws(IndexProblem) in try rows.put(larger) }
    #expect(try !found(index).contains(url(99)))
  }

  @Test func `rows are counted once, as they are read, and when they change`() throws {
    let index = try sample.open()
    let urls = inOrder((0..<6).map { url($0) })
    let records = urls.map { answerRecord($0) }
    try write(index) { (rows) throws(IndexProblem) in
      for record in records[..<5] { try rows.put(record) }
    }
    #expect(index.answers.tally.rows == 0)
    for _ in 0..<2 {
      _ = try index.answers.countedRows(after: [], limit: 2)
      #expect(index.answers.tally.rows == 2)
    }
    try write(index) { (rows) throws(IndexProblem) in
      try rows.put(records[0])
      try rows.remove(records[1].digest.bytes)
      // Behind those that have been counted.
      try rows.put(records[5])
      try rows.remove(records[4].digest.bytes)
    }
    #expect(index.answers.tally.rows == 1)
    _ = try index.answers.countedRows(after: records[1].digest.bytes, limit: 9)
    #expect(index.answers.tally.rows == 4)
    let bytes = index.answers.tally.bytes
    #expect(bytes == (try index.answers.rows(after: [], limit: 9).reduce(0) { $0 + $1.bytes }))
    try write(index) { (rows) throws(IndexProblem) in try rows.removeAll() }
    #expect((index.answers.tally.rows, index.answers.tally.bytes) == (0, 0))
  }

  @Test func `what is undone has not been counted`() throws {
    let index = try sample.open()
    _ = try index.answers.countedRows(after: [], limit: 1)
    let before = index.answers.tally
    #expect(
      problem {
        try write(index) { (rows) throws(IndexProblem) in
          try rows.put(answerRecord(url(0)))
          throw IndexProblem.tooLarge
        }
      } != nil)
    #expect(index.answers.tally == before)
    #expect(try found(index) == [])
  }
}

/// The record of an answer without a picture.
func answerRecord(_ url: String, storedAt: Int64 = TierStage.start, tags: [String] = [])
  -> StoredRecord
{
  var record = StoredRecord(
    url: url, digest: KeyDigest(url: url, identifier: nil), bytes: 0,
    facts: ImageFacts(format: 255, width: 0, height: 0, frames: 0, orientation: 0),
    storedAt: storedAt, freshUntil: storedAt + 3_600)
  record.status = 404
  record.lifetimeMs = 3_600_000
  record.headers = StoredHeaders([("cache-control", "max-age=3600")]).packed
  record.tags = tags
  return record
}
