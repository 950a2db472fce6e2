internal import CSQLite

/// A prepared statement: parameters are bound, and columns are read, from left to right.
///
/// All texts and blobs are copied on their way in and out. The file is not trusted: a column of
/// the wrong type, or out of the range that it is read into, is reported as damage.
@safe final class Statement {
  private let handle: OpaquePointer
  private var parameter: Int32 = 0
  private var column: Int32 = 0
  /// The first failure to bind; reported by `step`, so that binding needs no `try`.
  private var bindFailure = SQLITE_OK

  init(owning handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { unsafe _ = sqlite3_finalize(handle) }

  /// Makes it ready to be bound. It must also be called after a use: an open statement keeps the log from being
  /// carried over.
  func reset() {
    // The result only repeats the failure of the last step, which has been reported.
    unsafe _ = sqlite3_reset(handle)
    unsafe _ = sqlite3_clear_bindings(handle)
    parameter = 0
    bindFailure = SQLITE_OK
  }

  func bind<each Number: FixedWidthInteger>(_ numbers: repeat each Number) {
    for number in repeat each numbers {
      let place = next()
      note(unsafe sqlite3_bind_int64(handle, place, Int64(truncatingIfNeeded: number)))
    }
  }

  func bind(_ number: Int64?) { if let number { bind(number) } else { bindNull() } }

  func bind(_ text: String?) {
    guard var text else { return bindNull() }
    let place = next()
    let code = text.withUTF8 { bytes in unsafe sqlite_bind_text(handle, place, bytes.baseAddress, UInt64(bytes.count)) }
    note(code)
  }

  /// Binds bytes as a text, which need not be valid UTF-8: the end of a range of texts may not be.
  func bind(text bytes: [UInt8]) {
    let place = next()
    let code = unsafe bytes.withUnsafeBytes { bytes in
      unsafe sqlite_bind_text(handle, place, bytes.baseAddress, UInt64(bytes.count))
    }
    note(code)
  }

  func bind(blob bytes: [UInt8]) {
    let place = next()
    let code = unsafe bytes.withUnsafeBytes { bytes in
      unsafe sqlite_bind_blob(handle, place, bytes.baseAddress, UInt64(bytes.count))
    }
    note(code)
  }

  /// Binds a digest as a blob, the highest byte first, so that it sorts and reads like its hexadecimal digits.
  func bind(_ digest: KeyDigest) {
    let place = next()
    let words = (digest.high.bigEndian, digest.low.bigEndian)
    let code = unsafe withUnsafeBytes(of: words) { bytes in
      unsafe sqlite_bind_blob(handle, place, bytes.baseAddress, UInt64(bytes.count))
    }
    note(code)
  }

  func bind(_ digest: KeyDigest?) { if let digest { bind(digest) } else { bindNull() } }

  private func bindNull() {
    let place = next()
    note(unsafe sqlite3_bind_null(handle, place))
  }

  private func next() -> Int32 {
    parameter += 1
    return parameter
  }

  private func note(_ code: Int32) { if bindFailure == SQLITE_OK { bindFailure = code } }

  func step() throws(IndexProblem) -> Bool {
    guard bindFailure == SQLITE_OK else { throw .storage(code: bindFailure, systemErrno: 0, "a value is too large") }
    column = 0
    switch unsafe sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw unsafe problem(of: sqlite3_db_handle(handle))
    }
  }

  func run() throws(IndexProblem) {
    defer { reset() }
    while try step() {}
  }

  func integer<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws(IndexProblem) -> Number {
    let place = advance()
    guard unsafe sqlite3_column_type(handle, place) == SQLITE_INTEGER else { throw mismatch(place, "is no integer") }
    let value = unsafe sqlite3_column_int64(handle, place)
    guard let number = Number(exactly: value) else { throw mismatch(place, "is \(value)") }
    return number
  }

  /// Reads a size or a time, which has to be in the range that is written.
  func saneInteger() throws(IndexProblem) -> Int64 {
    let number: Int64 = try integer()
    guard SaneRange.numbers ~= number else { throw mismatch(column - 1, "is \(number)") }
    return number
  }

  /// Reads a number whose 64 bits are all in use, as bits.
  func bits() throws(IndexProblem) -> UInt64 { UInt64(bitPattern: try integer(Int64.self)) }

  func saneIntegerOrNull() throws(IndexProblem) -> Int64? { try isNull() ? nil : saneInteger() }

  func integerOrNull() throws(IndexProblem) -> Int64? { try isNull() ? nil : integer(Int64.self) }

  func text() throws(IndexProblem) -> String {
    let place = advance()
    guard unsafe sqlite3_column_type(handle, place) == SQLITE_TEXT,
      let start = unsafe sqlite3_column_text(handle, place)
    else { throw mismatch(place, "is no text") }
    // The length is asked for after the text, since getting the text may convert it.
    let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, place)))
    guard let text = unsafe String(validating: bytes, as: UTF8.self) else { throw mismatch(place, "is not UTF-8") }
    return text
  }

  func textOrNull() throws(IndexProblem) -> String? { try isNull() ? nil : text() }

  func blob() throws(IndexProblem) -> [UInt8] {
    let place = try blobPlace()
    let start = unsafe sqlite3_column_blob(handle, place)
    let count = unsafe Int(sqlite3_column_bytes(handle, place))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  func digest() throws(IndexProblem) -> KeyDigest {
    let place = try blobPlace()
    guard let start = unsafe sqlite3_column_blob(handle, place), unsafe sqlite3_column_bytes(handle, place) == 16 else {
      throw mismatch(place, "has not 16 bytes")
    }
    // SQLite keeps blobs at any address, aligned or not; the length has just been checked.
    let high = unsafe start.loadUnaligned(as: UInt64.self)
    let low = unsafe start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    return KeyDigest(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
  }

  func digestOrNull() throws(IndexProblem) -> KeyDigest? { try isNull() ? nil : digest() }

  private func blobPlace() throws(IndexProblem) -> Int32 {
    let place = advance()
    guard unsafe sqlite3_column_type(handle, place) == SQLITE_BLOB else { throw mismatch(place, "is no blob") }
    return place
  }

  /// Whether the next column is NULL; if so, it counts as read.
  private func isNull() -> Bool {
    guard unsafe sqlite3_column_type(handle, column) == SQLITE_NULL else { return false }
    column += 1
    return true
  }

  private func advance() -> Int32 {
    defer { column += 1 }
    return column
  }

  private func mismatch(_ place: Int32, _ what: String) -> IndexProblem {
    let name = unsafe sqlite3_column_name(handle, place).map { unsafe String(cString: $0) }
    return .damaged("\(name ?? "a column") \(what)")
  }
}

func problem(of database: OpaquePointer?) -> IndexProblem {
  IndexProblem(
    code: unsafe sqlite3_extended_errcode(database), systemErrno: unsafe sqlite3_system_errno(database),
    reason: unsafe String(cString: sqlite3_errmsg(database)))
}

extension Statement {
  func first<Row>(_ read: (Statement) throws(IndexProblem) -> Row) throws(IndexProblem) -> Row? {
    defer { reset() }
    return try step() ? try read(self) : nil
  }

  func all<Row>(_ read: (Statement) throws(IndexProblem) -> Row) throws(IndexProblem) -> [Row] {
    defer { reset() }
    var rows: [Row] = []
    while try step() { rows.append(try read(self)) }
    return rows
  }

  func boolean() throws(IndexProblem) -> Bool {
    let number: UInt8 = try integer()
    guard number < 2 else { throw .damaged("a yes or no is \(number)") }
    return number == 1
  }

  private func entryMarks() throws(IndexProblem) -> (flags: EntryFlags, owner: UInt32) {
    let marks: Int64 = try integer()
    let flags = EntryFlags(rawValue: UInt8(truncatingIfNeeded: marks))
    guard EntryFlags.all.isSuperset(of: flags), 0...Int64(UInt32.max) ~= marks >> 8 else {
      throw .damaged("the flags of an entry are \(marks)")
    }
    return (flags, DiskEntry.owner(in: marks))
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
    let marks = try entryMarks()
    let entry = DiskEntry(
      number: number, digest: digest, bytes: bytes, allocated: allocated,
      facts: ImageFacts(
        format: format, width: Int(sizes.0), height: Int(sizes.1), frames: Int(sizes.2), orientation: Int(orientation)),
      modified: modified, checksum: checksum, storedAt: times.0, lastAccess: times.1, freshUntil: times.2,
      flags: marks.flags, base: try integer(), owner: marks.owner)
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
    var row = IndexRow(
      number: entry.number, record: record, host: host, suffix: suffix, allocated: entry.allocated,
      lastAccess: Int64(entry.lastAccess), isAway: !entry.hasBody)
    guard try bits() == row.seal(encoded) else { throw changed }
    if entry.freshUntil == 0 { row.record.freshUntil = 0 }
    return row
  }
}
