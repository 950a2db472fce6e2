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

  /// Turns all entries into files to be removed and says how many; `exceptions` are kept until
  /// another time.
  package func doomAll(
    keepUntil: Int64, except exceptions: [UInt32: Int64] = [:]
  ) throws(IndexProblem) -> Int {
    try expectWriting()
    let statement = try connection.statement(.doomAll)
    statement.bind(IndexRange.sane(keepUntil))
    try statement.run()
    let count = connection.changes
    for (number, keepUntil) in exceptions { try keep(number, until: keepUntil) }
    for query in [IndexQuery.removeAllTags, .removePictures, .removeEntries] {
      try connection.statement(query).run()
    }
    guard connection.changes == count else { throw .damaged("an entry has no picture") }
    return count
  }

  /// All files that still have to be removed.
  package func doomed() throws(IndexProblem) -> [DoomedFile] {
    let statement = try connection.statement(.doomed)
    defer { statement.reset() }
    var doomed: [DoomedFile] = []
    while try statement.step() { doomed.append(try statement.doomedFile()) }
    return doomed
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

  private func keep(_ number: UInt32, until keepUntil: Int64) throws(IndexProblem) {
    let statement = try connection.statement(.keepLonger)
    statement.bind(IndexRange.sane(keepUntil))
    statement.bind(number)
    try statement.run()
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
