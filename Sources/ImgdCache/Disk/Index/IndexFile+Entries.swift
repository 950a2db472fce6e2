extension IndexFile {
  /// Adds an entry under a new number; an earlier one of the same digest is doomed.
  ///
  /// Numbers below zero and beyond all reason are brought into the range that is read back.
  package func insert(
    _ row: IndexRow, retiring keepUntil: Int64
  ) throws(IndexProblem) -> (number: UInt32, retired: DoomedFile?) {
    try expectWriting()
    var row = row.sane
    let earlier = try record(digestHigh: row.record.digestHigh, low: row.record.digestLow)
    var retired: DoomedFile?
    if let earlier { retired = try doom(earlier.number, keepUntil: keepUntil) }
    row.record.number = try insertEntry(row.record)
    try insertPicture(row)
    try insertTags(of: row)
    return (row.record.number, retired)
  }

  /// Takes over what a confirmation has changed: the answer, its freshness, times, flags and tags.
  /// What names and describes the file stays; false when the entry is gone.
  package func renew(_ row: IndexRow) throws(IndexProblem) -> Bool {
    try expectWriting()
    let number = row.record.number
    guard let old = try self.row(number: number) else { return false }
    let renewed = old.renewed(by: row.sane)
    try renewEntry(renewed.record)
    try renewPicture(renewed)
    try remove(.removeTags, number)
    try insertTags(of: renewed)
    return true
  }

  /// Notes when entries were last used; those that are gone are passed over.
  package func touch(_ uses: [(number: UInt32, at: Int64)]) throws(IndexProblem) {
    try expectWriting()
    for use in uses {
      let statement = try connection.statement(.touch)
      statement.bind(IndexRange.sane(use.at))
      statement.bind(use.number)
      try statement.run()
    }
  }

  /// Has entries confirmed before they are used again; those that are gone are passed over.
  package func markStale(_ numbers: [UInt32]) throws(IndexProblem) {
    try expectWriting()
    for number in numbers {
      guard var record = try record(number: number) else { continue }
      record.freshUntil = 0
      let statement = try connection.statement(.refresh)
      statement.bind(record.freshUntil)
      statement.bind(record.seal)
      statement.bind(number)
      try statement.run()
    }
  }

  private func insertEntry(_ record: IndexRecord) throws(IndexProblem) -> UInt32 {
    let statement = try connection.statement(.insertEntry)
    statement.bind(high: record.digestHigh, low: record.digestLow)
    for size in [record.bytes, record.allocated] { statement.bind(size) }
    for time in [record.storedAt, record.lastAccess, record.freshUntil] { statement.bind(time) }
    for fact in [record.format, record.orientation] { statement.bind(fact) }
    for fact in [record.width, record.height, record.frames] { statement.bind(fact) }
    statement.bind(record.flags)
    statement.bind(record.seal)
    try statement.run()
    guard let number = UInt32(exactly: connection.lastNumber) else {
      throw .damaged("all numbers are used up")
    }
    return number
  }

  private func insertPicture(_ row: IndexRow) throws(IndexProblem) {
    let statement = try connection.statement(.insertPicture)
    statement.bind(row.record.number)
    statement.bind(row.url)
    statement.bind(HostOrder(row.host).stored)
    statement.bind(row.identifier)
    statement.bind(high: row.checksumHigh, low: row.checksumLow)
    bindAnswer(of: row, to: statement)
    statement.bind(row.suffix)
    statement.bind(row.seal)
    try statement.run()
  }

  private func renewEntry(_ record: IndexRecord) throws(IndexProblem) {
    let statement = try connection.statement(.renewEntry)
    for time in [record.storedAt, record.lastAccess, record.freshUntil] { statement.bind(time) }
    statement.bind(record.flags)
    statement.bind(record.seal)
    statement.bind(record.number)
    try statement.run()
  }

  private func renewPicture(_ row: IndexRow) throws(IndexProblem) {
    let statement = try connection.statement(.renewPicture)
    bindAnswer(of: row, to: statement)
    statement.bind(row.seal)
    statement.bind(row.record.number)
    try statement.run()
  }

  /// In the order that both statements have.
  private func bindAnswer(of row: IndexRow, to statement: Statement) {
    statement.bind(row.status)
    statement.bind(blob: row.headers)
    statement.bind(row.finalURL)
    statement.bind(row.initialAgeMs)
    statement.bind(row.lifetimeMs)
    statement.bind(row.whileRevalidateMs)
    statement.bind(row.ifErrorMs)
    statement.bind(row.freshnessFlags)
    statement.bind(blob: row.varying)
  }

  private func insertTags(of row: IndexRow) throws(IndexProblem) {
    for tag in row.tags {
      let statement = try connection.statement(.insertTag)
      statement.bind(tag)
      statement.bind(row.record.number)
      try statement.run()
    }
  }
}
