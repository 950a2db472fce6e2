extension IndexFile {
  /// The record of one entry; nil when there is none.
  package func record(
    digestHigh high: UInt64, low: UInt64
  ) throws(IndexProblem) -> IndexRecord? {
    let statement = try connection.statement(.recordByDigest)
    statement.bind(high: high, low: low)
    return try firstRecord(of: statement)
  }

  /// Up to `limit` records behind `number`, in the order of their numbers.
  package func records(
    after number: UInt32, limit: Int
  ) throws(IndexProblem) -> [IndexRecord] {
    let statement = try connection.statement(.records)
    statement.bind(number)
    statement.bind(max(limit, 0))
    defer { statement.reset() }
    var records: [IndexRecord] = []
    while try statement.step() { records.append(try statement.record()) }
    return records
  }

  /// The entries whose files belong on a shelf: the first twelve bits of their digests say so.
  func matches(onShelf number: Int) throws(IndexProblem) -> [IndexMatch] {
    let statement = try connection.statement(.shelf)
    let first = UInt64(number) << 52
    statement.bind(high: first, low: 0)
    statement.bind(high: first | 0xF_FFFF_FFFF_FFFF, low: .max)
    defer { statement.reset() }
    var matches: [IndexMatch] = []
    while try statement.step() { matches.append(try statement.match()) }
    return matches
  }

  /// Everything about one entry; nil when there is none.
  package func row(number: UInt32) throws(IndexProblem) -> IndexRow? {
    try reading { () throws(IndexProblem) in try rowWithinReading(number) }
  }

  /// Up to `limit` rows behind `number` in the order they were stored, those whose URL begins with
  /// `prefix`, looking at no more than `most`.
  ///
  /// `next` is what to go on behind; nil at the end.
  package func page(
    after number: UInt32, limit: Int, examined most: Int, prefix: String? = nil
  ) throws(IndexProblem) -> (rows: [IndexRow], next: UInt32?) {
    try reading { () throws(IndexProblem) in
      let found = try names(after: number, limit: limit, examined: most, prefix: prefix ?? "")
      var rows: [IndexRow] = []
      for number in found.numbers {
        guard let row = try rowWithinReading(number) else { throw .damaged("an entry is missing") }
        rows.append(row)
      }
      return (rows, found.next)
    }
  }

  /// Some of the entries up to a number.
  package func numbers(through last: UInt32, limit: Int) throws(IndexProblem) -> [UInt32] {
    let statement = try connection.statement(.numbers)
    statement.bind(last)
    statement.bind(limit)
    defer { statement.reset() }
    var numbers: [UInt32] = []
    while try statement.step() { numbers.append(try statement.integer()) }
    return numbers
  }

  /// The number of the entry that was stored last; zero when there is none.
  package func lastNumber() throws(IndexProblem) -> UInt32 {
    let statement = try connection.statement(.lastNumber)
    defer { statement.reset() }
    return try statement.step() ? try statement.integer() : 0
  }

  func record(number: UInt32) throws(IndexProblem) -> IndexRecord? {
    let statement = try connection.statement(.recordByNumber)
    statement.bind(number)
    return try firstRecord(of: statement)
  }

  private func firstRecord(of statement: Statement) throws(IndexProblem) -> IndexRecord? {
    defer { statement.reset() }
    return try statement.step() ? try statement.record() : nil
  }

  private func rowWithinReading(_ number: UInt32) throws(IndexProblem) -> IndexRow? {
    guard let record = try record(number: number) else { return nil }
    let statement = try connection.statement(.row)
    statement.bind(number)
    defer { statement.reset() }
    guard try statement.step() else { throw .damaged("an entry has no picture") }
    return try statement.row(of: record, tags: try tags(of: number))
  }

  private func tags(of number: UInt32) throws(IndexProblem) -> [String] {
    let statement = try connection.statement(.tags)
    statement.bind(number)
    defer { statement.reset() }
    var tags: [String] = []
    while try statement.step() { tags.append(try statement.text()) }
    return tags
  }

  /// The numbers that make a page.
  private func names(
    after number: UInt32, limit: Int, examined most: Int, prefix: String
  ) throws(IndexProblem) -> (numbers: [UInt32], next: UInt32?) {
    let statement = try connection.statement(.pageURLs)
    statement.bind(number)
    defer { statement.reset() }
    var numbers: [UInt32] = []
    var (last, examined) = (number, 0)
    while try statement.step() {
      // One more row than is wanted, so that the end is seen.
      if examined >= most || numbers.count >= limit { return (numbers, last) }
      last = try statement.integer()
      examined += 1
      if try statement.text().utf8.starts(with: prefix.utf8) { numbers.append(last) }
    }
    return (numbers, nil)
  }
}

// MARK: Rows as they are read

extension Statement {
  func match() throws(IndexProblem) -> IndexMatch {
    let number: UInt32 = try integer()
    let digest = try wide()
    return IndexMatch(
      number: number, digestHigh: digest.high, digestLow: digest.low,
      allocated: Int(try saneInteger()))
  }

  fileprivate func record() throws(IndexProblem) -> IndexRecord {
    let number: UInt32 = try integer()
    let digest = try wide()
    let record = IndexRecord(
      number: number, digestHigh: digest.high, digestLow: digest.low,
      bytes: Int(try saneInteger()), allocated: Int(try saneInteger()),
      storedAt: try saneInteger(), lastAccess: try saneInteger(), freshUntil: try saneInteger(),
      format: try integer(), orientation: try integer(), width: try integer(),
      height: try integer(), frames: try integer(), flags: try integer())
    guard try bits() == record.seal else { throw .damaged("entry \(number) has been changed") }
    return record
  }

  fileprivate func row(
    of record: IndexRecord, tags: [String]
  ) throws(IndexProblem) -> IndexRow {
    var row = IndexRow(
      record: record, url: try text(), host: HostOrder(stored: try text()).host,
      identifier: try textOrNull())
    (row.checksumHigh, row.checksumLow) = try wide()
    try readAnswer(into: &row)
    row.suffix = try text()
    row.tags = tags
    guard try bits() == row.seal else {
      throw .damaged("picture \(record.number) has been changed")
    }
    return row
  }

  private func readAnswer(into row: inout IndexRow) throws(IndexProblem) {
    row.status = try integer()
    row.headers = try blob()
    row.finalURL = try textOrNull()
    row.initialAgeMs = try saneInteger()
    row.lifetimeMs = try saneInteger()
    row.whileRevalidateMs = try saneInteger()
    row.ifErrorMs = try saneIntegerOrNull()
    row.freshnessFlags = try integer()
    row.varying = try blob()
  }
}
