// Reads the rows of the index file, column by column.

extension Statement {
  /// The first row; nil when there is none.
  func first<Row>(_ read: (Statement) throws(IndexProblem) -> Row) throws(IndexProblem) -> Row? {
    defer { reset() }
    return try step() ? try read(self) : nil
  }

  /// Every row.
  func all<Row>(_ read: (Statement) throws(IndexProblem) -> Row) throws(IndexProblem) -> [Row] {
    defer { reset() }
    var rows: [Row] = []
    while try step() { rows.append(try read(self)) }
    return rows
  }

  func bind(_ digest: KeyDigest) { bind(high: digest.high, low: digest.low) }

  func bind(_ digest: KeyDigest?) { if let digest { bind(digest) } else { bind(nil as Int64?) } }

  func digest() throws(IndexProblem) -> KeyDigest {
    let (high, low) = try wide()
    return KeyDigest(high: high, low: low)
  }

  func digestOrNull() throws(IndexProblem) -> KeyDigest? {
    try wideOrNull().map { KeyDigest(high: $0.high, low: $0.low) }
  }

  func boolean() throws(IndexProblem) -> Bool {
    let number: UInt8 = try integer()
    guard number < 2 else { throw .damaged("a yes or no is \(number)") }
    return number == 1
  }

  func match() throws(IndexProblem) -> IndexMatch {
    IndexMatch(number: try integer(), digest: try digest(), allocated: Int(try saneInteger()))
  }

  func entry() throws(IndexProblem) -> DiskEntry {
    let number: UInt32 = try integer()
    let digest = try digest()
    let (bytes, allocated): (UInt32, Int) = (try integer(), Int(try saneInteger()))
    let times: (UInt32, UInt32, UInt32) = (try integer(), try integer(), try integer())
    let (format, orientation): (UInt8, UInt8) = (try integer(), try integer())
    let sizes: (Int32, Int32, Int32) = (try integer(), try integer(), try integer())
    let modified: UInt32 = try integer()
    let checksum = BodyChecksum(try bits())
    let entry = DiskEntry(
      number: number, digest: digest, bytes: bytes, allocated: allocated,
      facts: ImageFacts(
        format: format, width: Int(sizes.0), height: Int(sizes.1), frames: Int(sizes.2), orientation: Int(orientation)),
      modified: modified, checksum: checksum, storedAt: times.0, lastAccess: times.1, freshUntil: times.2,
      isPlain: try boolean(), base: try integer())
    guard try bits() == entry.seal else { throw .damaged("entry \(number) has been changed") }
    return entry
  }

  /// Reads the rest of an entry's row. A soft purge changes only the entry, so its mark counts for both.
  func row(of entry: DiskEntry) throws(IndexProblem) -> IndexRow {
    let (url, host) = (try text(), HostOrder(stored: try text()).host)
    let (identifier, suffix) = (try textOrNull(), try text())
    let encoded = try blob()
    let changed = IndexProblem.damaged("picture \(entry.number) has been changed")
    guard let record = RecordCodec.decode(encoded), record.digest == entry.digest, sameBytes(record.url, url),
      sameBytes(record.identifier, identifier)
    else { throw changed }
    var row = IndexRow(record: record, host: host, suffix: suffix, lastAccess: Int64(entry.lastAccess))
    row.number = entry.number
    row.allocated = entry.allocated
    guard try bits() == row.seal(encoded) else { throw changed }
    if entry.freshUntil == 0 { row.record.freshUntil = 0 }
    return row
  }

  func pendingUnlink() throws(IndexProblem) -> PendingUnlink {
    PendingUnlink(number: try integer(), digest: try digest(), suffix: try text(), keepUntil: try saneInteger())
  }
}

extension Connection {
  /// Carries out a statement that takes one number.
  func run(_ query: IndexQuery, _ number: some FixedWidthInteger) throws(IndexProblem) {
    let statement = try statement(query)
    statement.bind(number)
    try statement.run()
  }
}
