import Glibc
import ImgdTestSupport

@testable import ImgdCache

/// An index in a directory of its own, which goes with it.
final class SampleIndex {
  let directory: String
  var path: String { directory + "/index.db" }

  init() throws { directory = try TemporaryDirectory.make() }

  deinit { TemporaryDirectory.remove(directory) }

  func open(_ access: IndexFile.Access = .readWrite) throws(IndexProblem) -> IndexFile {
    try IndexFile(path: path, access: access)
  }

  /// The contents of the index when it is opened and read completely.
  func contents() throws(IndexProblem) -> Contents {
    let index = try open()
    let rows = try index.entries.page(after: 0, limit: .max, examined: .max).rows
    let contents = Contents(
      rows: rows, entries: try index.entries.entries(after: 0, limit: .max),
      removals: try index.removals.all(), unlinks: try index.unlinks.due())
    for entry in contents.entries {
      guard try index.entries.entry(of: entry.digest) == entry else {
        throw .damaged("it is not found by its digest")
      }
    }
    return contents
  }

  /// Changes it as another program would.
  func sql(_ statements: String...) throws {
    let connection = try Connection(path: path, isReadOnly: false)
    for statement in statements { try connection.execute(statement) }
    connection.close()
  }

  struct Contents: Equatable {
    var rows: [IndexRow]
    var entries: [DiskEntry]
    var removals: [RemovalOrder]
    var unlinks: [PendingUnlink]
  }
}

/// A row that differs from others with another digest in most of what can differ.
func sampleRow(
  _ digest: UInt64, url: String? = nil, host: String = "www.example.org",
  identifier: String? = nil, tags: [String] = [], storedAt: Int64 = 1000, lastAccess: Int64 = 2000,
  freshUntil: Int64 = 3000
) -> IndexRow {
  var record = StoredRecord(
    url: url ?? "https://\(host)/pictures/\(digest).jpg", identifier: identifier,
    digest: KeyDigest(high: digest &* 0x9E37_79B9_7F4A_7C15, low: digest),
    bytes: 5000 + Int(digest),
    facts: ImageFacts(format: 3, width: 640, height: 480, frames: 1, orientation: 6),
    storedAt: storedAt, freshUntil: freshUntil)
  record.checksum = BodyChecksum(~digest)
  record.headers = Array("content-type\u{0}image/jpeg\u{0}etag\u{0}\"\(digest)\"\u{0}".utf8)
  record.initialAgeMs = 250
  record.lifetimeMs = 60_000
  record.whileRevalidateMs = 5000
  record.flags = [.needsConfirmation, .mustRevalidate]
  record.tags = tags
  var row = IndexRow(record: record, host: host, suffix: "jpg", lastAccess: lastAccess)
  row.allocated = 8192
  return row
}

extension IndexFile {
  @discardableResult
  func add(_ rows: [IndexRow]) throws -> [UInt32] {
    try write { () throws(IndexProblem) in
      var numbers: [UInt32] = []
      for row in rows { numbers.append(try entries.insert(row, retiring: 0).number) }
      return numbers
    }
  }

  func found(_ change: (inout PurgeFilter) -> Void) throws -> [UInt32] {
    var filter = PurgeFilter()
    change(&filter)
    return try matches(of: filter).map(\.number).sorted()
  }

  /// The entries that a filter means, in no order.
  func matches(of filter: PurgeFilter, askedAt: Int64 = 0) throws(IndexProblem) -> [IndexMatch] {
    try search(RemovalOrder(filter, isSoft: false, askedAt: askedAt)).next(examining: .max).matches
  }
}

/// The problem of an operation; nil if there is none.
func problem(_ body: () throws -> Void) -> IndexProblem? {
  do {
    try body()
    return nil
  } catch {
    return error as? IndexProblem
  }
}

extension IndexProblem {
  var isDamage: Bool { if case .damaged = self { true } else { false } }
  var isBusy: Bool { if case .busy = self { true } else { false } }
  var systemErrno: Int32? { if case .storage(_, let errno, _) = self { errno } else { nil } }
}

func overwrite(_ path: String, _ bytes: [UInt8]) throws {
  guard let file = fopen(path, "w") else { throw TestFailure("\(path): errno \(errno)") }
  defer { fclose(file) }
  guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
    throw TestFailure("\(path): errno \(errno)")
  }
}
