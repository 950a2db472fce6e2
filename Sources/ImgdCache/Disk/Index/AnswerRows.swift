/// The table of remembered answers, which have a record and no picture.
///
/// Nothing else in the file refers to its rows, so that one that makes no sense says nothing of the
/// others: it is read as nothing, and the caller removes it.
package final class AnswerRows {
  /// Beyond these no new row is written.
  static let mostRows = 131_072
  static let mostBytes = 64 << 20

  /// One row; without an answer if it is damaged.
  struct Row {
    /// The digest as it stands there, of any length.
    let key: [UInt8]
    let answer: StoredAnswer?
    let bytes: Int
  }

  /// What the table holds, as far as its rows have been counted.
  var tally = AnswerTally()

  private let connection: Connection
  private let transactions: IndexTransactions

  init(_ connection: Connection, _ transactions: IndexTransactions) {
    self.connection = connection
    self.transactions = transactions
  }

  // MARK: Writing

  /// Writes an answer in place of an earlier one; where there is no room, the earlier one goes all the
  /// same.
  func put(_ record: StoredRecord) throws(IndexProblem) {
    let record = record.sane
    try remove(record.digest.bytes)
    guard let encoded = RecordCodec.encode(record), tally.rows < Self.mostRows,
      tally.bytes + encoded.count <= Self.mostBytes
    else { return }
    let statement = try connection.statement(.insertAnswer)
    statement.bind(record.digest)
    statement.bind(blob: encoded)
    try statement.run()
    tally.add(encoded.count, under: record.digest.bytes)
  }

  /// Removes the row of a digest, if there is one.
  func remove(_ key: [UInt8]) throws(IndexProblem) {
    try transactions.expectWriting()
    let statement = try connection.statement(.removeAnswer)
    statement.bind(blob: key)
    for bytes in try statement.all({ (row) throws(IndexProblem) in try row.integer(Int.self) }) {
      tally.remove(bytes, under: key)
    }
  }

  func removeAll() throws(IndexProblem) {
    try transactions.expectWriting()
    try connection.statement(.removeAnswers).run()
    tally.empty()
  }

  // MARK: Reading

  /// Up to `limit` rows behind a key, in the order of their keys.
  func rows(after key: [UInt8], limit: Int) throws(IndexProblem) -> [Row] {
    let statement = try connection.statement(.answers)
    statement.bind(blob: key)
    statement.bind(limit)
    return try statement.all { (row) throws(IndexProblem) in
      let (key, encoded) = (try row.blob(), try row.blob())
      return Row(key: key, answer: StoredAnswer(encoded, under: key), bytes: encoded.count)
    }
  }

  /// The same, and counts them.
  func countedRows(after key: [UInt8], limit: Int) throws(IndexProblem) -> [Row] {
    let rows = try rows(after: key, limit: limit)
    for row in rows { tally.count(row.bytes, under: row.key) }
    if rows.count < limit { tally.finish() }
    return rows
  }
}

extension KeyDigest {
  /// As it stands in the file, the highest byte first.
  var bytes: [UInt8] {
    [high, low].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
    }
  }
}
