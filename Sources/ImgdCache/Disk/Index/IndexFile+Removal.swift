extension IndexFile {
  /// Turns entries into files to be removed; numbers of no entry are passed over.
  package func doom(
    _ numbers: [UInt32], keepUntil: (UInt32) -> Int64
  ) throws(IndexProblem) -> [DoomedFile] {
    try expectWriting()
    var doomed: [DoomedFile] = []
    for number in numbers {
      if let file = try doom(number, keepUntil: keepUntil(number)) { doomed.append(file) }
    }
    return doomed
  }

  /// Up to which number entries are gone, whose rows may still be there.
  package func cleared() throws(IndexProblem) -> UInt32 {
    let statement = try connection.statement(.readCleared)
    defer { statement.reset() }
    guard try statement.step() else { throw .damaged("it has no state") }
    return try statement.integer()
  }

  /// Has all entries up to a number gone, however many they are; their rows can go later.
  package func clear(through number: UInt32) throws(IndexProblem) {
    try expectWriting()
    let statement = try connection.statement(.writeCleared)
    statement.bind(max(number, try cleared()))
    try statement.run()
  }

  /// Files that have to be removed by `wall`, up to `limit` of those behind `number`.
  package func doomed(
    after number: UInt32 = 0, dueBy wall: Int64 = .max, limit: Int = .max
  ) throws(IndexProblem) -> [DoomedFile] {
    let statement = try connection.statement(.doomed)
    statement.bind(number)
    statement.bind(wall)
    statement.bind(limit)
    defer { statement.reset() }
    var doomed: [DoomedFile] = []
    while try statement.step() { doomed.append(try statement.doomedFile()) }
    return doomed
  }

  /// When the first of the files that are kept beyond `wall` has to be removed.
  package func nextDoom(after wall: Int64) throws(IndexProblem) -> Int64? {
    let statement = try connection.statement(.nextDoom)
    statement.bind(wall)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    return try statement.saneIntegerOrNull()
  }

  /// Whether a file still has to be removed.
  package func isDoomed(
    _ number: UInt32, digestHigh high: UInt64, low: UInt64
  ) throws(IndexProblem) -> Bool {
    let statement = try connection.statement(.isDoomed)
    statement.bind(number)
    statement.bind(high: high, low: low)
    defer { statement.reset() }
    return try statement.step()
  }

  /// Strikes out files that have been removed.
  package func forget(_ numbers: [UInt32]) throws(IndexProblem) {
    try expectWriting()
    for number in numbers { try remove(.forget, number) }
  }

  func doom(_ number: UInt32, keepUntil: Int64) throws(IndexProblem) -> DoomedFile? {
    guard let file = try addDoomed(number, keepUntil: keepUntil) else {
      guard try record(number: number) == nil else { throw .damaged("an entry has no picture") }
      return nil
    }
    for query in [IndexQuery.removeTags, .removePicture, .removeEntry] {
      try remove(query, number)
    }
    return file
  }

  func remove(_ query: IndexQuery, _ number: UInt32) throws(IndexProblem) {
    let statement = try connection.statement(query)
    statement.bind(number)
    try statement.run()
  }

  private func addDoomed(
    _ number: UInt32, keepUntil: Int64
  ) throws(IndexProblem) -> DoomedFile? {
    let keepUntil = IndexRange.sane(keepUntil)
    let statement = try connection.statement(.doom)
    statement.bind(keepUntil)
    statement.bind(number)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    let digest = try statement.wide()
    let suffix = try statement.text()
    // The row is only written for good when the statement has come to its end.
    _ = try statement.step()
    return DoomedFile(
      number: number, digestHigh: digest.high, digestLow: digest.low, suffix: suffix,
      keepUntil: keepUntil)
  }
}

extension Statement {
  fileprivate func doomedFile() throws(IndexProblem) -> DoomedFile {
    let number: UInt32 = try integer()
    let digest = try wide()
    return DoomedFile(
      number: number, digestHigh: digest.high, digestLow: digest.low, suffix: try text(),
      keepUntil: try saneInteger())
  }
}
