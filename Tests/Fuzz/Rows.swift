@testable import ImgdCache

extension FuzzTarget {
  /// A row of the index file as SQLite hands it out. A value of another kind, out of range or simply another one shows
  /// as damage.
  static let row = FuzzTarget(
    "row", of: ["ImgdCache/Disk/Index/Statement.swift", "ImgdCache/Disk/Index/DiskEntry.swift"]
  ) { bytes in
    var choices = Choices(bytes)
    var row = IndexRow(
      record: PlannedRecord.make(&choices), host: choices.pick(["example.org", "[::1]", "127.0.0.1", "", "A.b"]),
      suffix: choices.pick(["jpg", "", "ü"]), lastAccess: choices.number())
    row.number = choices.number()
    row.allocated = Int(choices.number(UInt32.self) >> 1) * 512
    row.isAway = choices.flag()
    row = row.sane
    let entry = DiskEntry(row)
    guard let encoded = RecordCodec.encode(row.record) else { fatalError("a short record has a form") }
    var columns = Columns.of(entry) + Columns.of(row, encoded)
    let change = Columns.change(&choices, in: columns)
    if let change { columns[change.place] = change.value }
    do throws(IndexProblem) {
      let read = try Columns.read(columns)
      guard let change else {
        return expect(read.entry == entry && read.row.record == row.record.marked(by: entry), "a row is as written")
      }
      // The last use is not sealed: it only decides an order.
      let isLastUse = change.place == Columns.lastAccess
      expect(change.isSame || isLastUse || read.entry == entry, "another value shows as damage: \(change)")
    } catch {
      guard case .damaged = error else { fatalError("what cannot be read is damaged: \(error)") }
      expect(change != nil, "what was written can be read")
    }
  }
}

extension StoredRecord {
  /// A soft purge changes only the entry.
  fileprivate func marked(by entry: DiskEntry) -> StoredRecord {
    var record = self
    if entry.freshUntil == 0 { record.freshUntil = 0 }
    return record
  }
}

/// The columns of `entry` and `picture`, with values of any kind.
private enum Columns {
  enum Value: Equatable {
    case integer(Int64)
    case text([UInt8])
    case blob([UInt8])
    case null
  }

  static let lastAccess = 5

  static func of(_ entry: DiskEntry) -> [Value] {
    let facts = entry.facts
    let front: [Value] = [.integer(Int64(entry.number)), .blob(bytes(of: entry.digest))]
    let numbers: [Int64] = [
      Int64(entry.bytes), Int64(entry.allocated), Int64(entry.storedAt), Int64(entry.lastAccess),
      Int64(entry.freshUntil), Int64(facts.format), Int64(facts.orientation), Int64(facts.width), Int64(facts.height),
      Int64(facts.frames), Int64(entry.modified), Int64(bitPattern: entry.checksum.value), entry.marks,
      Int64(entry.base), Int64(bitPattern: entry.seal),
    ]
    return front + numbers.map { .integer($0) }
  }

  static func of(_ row: IndexRow, _ encoded: [UInt8]) -> [Value] {
    [
      text(row.record.url), text(HostOrder(row.host).stored), row.record.identifier.map(text) ?? .null,
      text(row.suffix), .blob(encoded), .integer(Int64(bitPattern: row.seal(encoded))),
    ]
  }

  private static func text(_ text: String) -> Value { .text(Array(text.utf8)) }

  private static func bytes(of digest: KeyDigest) -> [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? digest.high : digest.low) >> UInt64(56 - 8 * ($0 % 8))) }
  }

  static func change(_ choices: inout Choices, in columns: [Value]) -> (place: Int, value: Value, isSame: Bool)? {
    guard choices.flag() else { return nil }
    let place = Int(choices.byte()) % columns.count
    let value: Value
    switch (choices.byte() % 5, columns[place]) {
    case (0, .integer(let number)): value = .integer(number ^ 1 << Int64(choices.byte() & 63))
    case (0, .text(let bytes)): value = .text(bytes + choices.bytes(2))
    case (0, .blob(let bytes)): value = .blob(bytes.dropLast() + choices.bytes(1))
    case (1, _): value = .null
    case (2, _): value = .text(choices.bytes(8))
    case (3, _): value = .blob(choices.bytes(16))
    default: value = .integer(choices.number())
    }
    return (place, value, value == columns[place])
  }

  /// One connection, and one statement that returns what is bound to it.
  nonisolated(unsafe) private static let statement: Statement = {
    let marks = (1...23).map { "?\($0)" }.joined(separator: ", ")
    do throws(IndexProblem) {
      let connection = try Connection(path: ":memory:", isReadOnly: false)
      kept = connection
      return try connection.prepare("SELECT \(marks)", isKept: true)
    } catch { fatalError("SQLite has memory: \(error)") }
  }()
  nonisolated(unsafe) private static var kept: Connection?

  static func read(_ columns: [Value]) throws(IndexProblem) -> (entry: DiskEntry, row: IndexRow) {
    let statement = statement
    defer { statement.reset() }
    for column in columns {
      switch column {
      case .integer(let number): statement.bind(number)
      case .text(let bytes): statement.bind(text: bytes)
      case .blob(let bytes): statement.bind(blob: bytes)
      case .null: statement.bind(nil as String?)
      }
    }
    guard try statement.step() else { fatalError("there is a row") }
    let entry = try statement.entry()
    return (entry, try statement.row(of: entry))
  }
}
