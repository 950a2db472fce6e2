/// A file that no entry needs any more and that still has to be removed.
package struct PendingUnlink: Sendable, Equatable {
  package let number: UInt32
  package let digest: KeyDigest
  package let suffix: String
  /// The end of the lease on its path, in seconds since 1970.
  package let keepUntil: Int64

  var file: PictureFile? { PictureFile(digest: digest, number: number, suffix: suffix) }
}

/// The table of files that still have to be removed, some of them only after a lease has ended.
package final class PendingUnlinks {
  private let connection: Connection
  private let transactions: IndexTransactions

  init(_ transactions: IndexTransactions) {
    connection = transactions.connection
    self.transactions = transactions
  }

  /// Turns entries into files to be removed; numbers without an entry are passed over.
  package func retire(_ numbers: [UInt32], keepUntil: (UInt32) -> Int64) throws(IndexProblem) -> [PendingUnlink] {
    var retired: [PendingUnlink] = []
    for number in numbers { if let file = try retire(number, keepUntil: keepUntil(number)) { retired.append(file) } }
    return retired
  }

  func retire(_ number: UInt32, keepUntil: Int64) throws(IndexProblem) -> PendingUnlink? {
    try transactions.expectWriting()
    guard let file = try add(number, keepUntil: SaneRange.clamped(keepUntil)) else {
      guard try !hasEntry(number) else { throw .damaged("an entry has no picture") }
      return nil
    }
    for query in [IndexQuery.removeTags, .removePicture, .removeEntry] { try connection.run(query, number) }
    return file
  }

  /// Up to `limit` of the files that are due at `wall`, in the order of their numbers, after `number`.
  package func due(after number: UInt32 = 0, by wall: Int64 = .max, limit: Int = .max) throws(IndexProblem)
    -> [PendingUnlink]
  {
    let statement = try connection.statement(.dueUnlinks)
    statement.bind(number)
    statement.bind(wall)
    statement.bind(limit)
    return try statement.all { (row) throws(IndexProblem) in try row.pendingUnlink() }
  }

  /// When the next file is due that is kept beyond `wall`; nil if there is none.
  package func next(after wall: Int64) throws(IndexProblem) -> Int64? {
    let statement = try connection.statement(.nextUnlink)
    statement.bind(wall)
    return try statement.first { (row) throws(IndexProblem) in try row.saneIntegerOrNull() } ?? nil
  }

  /// Whether a file still has to be removed.
  package func contains(_ number: UInt32, _ digest: KeyDigest) throws(IndexProblem) -> Bool {
    let statement = try connection.statement(.isPendingUnlink)
    statement.bind(number)
    statement.bind(digest)
    defer { statement.reset() }
    return try statement.step()
  }

  /// Takes files that have been removed off the table.
  package func forget(_ numbers: [UInt32]) throws(IndexProblem) {
    try transactions.expectWriting()
    for number in numbers { try connection.run(.forgetUnlink, number) }
  }

  private func hasEntry(_ number: UInt32) throws(IndexProblem) -> Bool {
    let statement = try connection.statement(.entryByNumber)
    statement.bind(number)
    defer { statement.reset() }
    return try statement.step()
  }

  private func add(_ number: UInt32, keepUntil: Int64) throws(IndexProblem) -> PendingUnlink? {
    let statement = try connection.statement(.addUnlink)
    statement.bind(keepUntil)
    statement.bind(number)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    let (digest, suffix) = (try statement.digest(), try statement.text())
    // The row is only really written once the statement has run to its end.
    _ = try statement.step()
    return PendingUnlink(number: number, digest: digest, suffix: suffix, keepUntil: keepUntil)
  }
}
