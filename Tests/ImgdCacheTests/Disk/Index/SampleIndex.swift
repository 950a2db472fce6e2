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

  /// What the index says when it is opened and everything in it is read.
  func contents() throws(IndexProblem) -> Contents {
    let index = try open()
    let rows = try index.page(after: 0, limit: .max, examined: .max).rows
    let contents = Contents(
      rows: rows, records: try index.records(after: 0, limit: .max), doomed: try index.doomed())
    for record in contents.records {
      guard try index.record(digestHigh: record.digestHigh, low: record.digestLow) == record else {
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
    var records: [IndexRecord]
    var doomed: [DoomedFile]
  }
}

/// A row that differs from others with another digest in most of what can differ.
func sampleRow(
  _ digest: UInt64, url: String? = nil, host: String = "www.example.org",
  identifier: String? = nil, tags: [String] = [], storedAt: Int64 = 1000, lastAccess: Int64 = 2000,
  freshUntil: Int64 = 3000
) -> IndexRow {
  var row = IndexRow(
    record: IndexRecord(
      digestHigh: digest &* 0x9E37_79B9_7F4A_7C15, digestLow: digest, bytes: 5000 + Int(digest),
      allocated: 8192, storedAt: storedAt, lastAccess: lastAccess, freshUntil: freshUntil,
      format: 3, orientation: 6, width: 640, height: 480, frames: 1, flags: 5),
    url: url ?? "https://\(host)/pictures/\(digest).jpg", host: host, identifier: identifier)
  row.checksumHigh = ~digest
  row.checksumLow = digest &+ 7
  row.headers = Array("content-type\u{0}image/jpeg\u{0}etag\u{0}\"\(digest)\"\u{0}".utf8)
  row.initialAgeMs = 250
  row.lifetimeMs = 60_000
  row.whileRevalidateMs = 5000
  row.freshnessFlags = 3
  row.suffix = "jpg"
  row.tags = tags
  return row
}

extension IndexFile {
  @discardableResult
  func add(_ rows: [IndexRow]) throws -> [UInt32] {
    try write { () throws(IndexProblem) in
      var numbers: [UInt32] = []
      for row in rows { numbers.append(try insert(row, retiring: 0).number) }
      return numbers
    }
  }

  func found(_ change: (inout IndexFilter) -> Void) throws -> [UInt32] {
    var filter = IndexFilter()
    change(&filter)
    return try numbers(matching: filter).map(\.number).sorted()
  }
}

/// What went wrong; nil when nothing did.
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
