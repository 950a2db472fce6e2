// The thread of the disk tier that reads: pictures with their rows, and the index at the start.
//
// It has a connection of its own, so that whoever wants to read never waits for a write.

internal import ImgdSystem

/// A picture to be read.
struct LoadOrder: Sendable {
  let number: UInt32
  let bytes: Int
  /// The bytes have to be compared with the checksum that was stored.
  let verifies: Bool
}

enum LoadAnswer: Sendable {
  case loaded(IndexRow, Payload)
  case missing
  case damaged(String)
  case failed(DiskTrouble)
}

final class DiskReader {
  private var directory: DiskDirectory?
  private var index: IndexFile?
  private var records: [IndexRecord] = []
  /// The order in which records are taken: the time of the last use, and the place.
  private var order: [UInt64] = []
  private var lastNumber: UInt32 = 0

  func open(_ directory: DiskDirectory) throws(DiskTrouble) {
    close()
    self.directory = directory
    do throws(IndexProblem) {
      index = try IndexFile(path: directory.indexPath, access: .readOnly)
    } catch { throw DiskTrouble(error) }
  }

  func close() {
    try? index?.close(clean: false)
    index = nil
    directory = nil
    records = []
    order = []
    lastNumber = 0
  }

  func giveBack() {
    index?.giveBack()
  }

  // MARK: Pictures

  func load(_ order: LoadOrder) -> LoadAnswer {
    do throws(DiskTrouble) {
      guard let row = try row(order.number) else { return .missing }
      return try read(row, verifies: order.verifies)
    } catch {
      return .failed(error)
    }
  }

  private func read(_ row: IndexRow, verifies: Bool) throws(DiskTrouble) -> LoadAnswer {
    guard let directory, let file = row.file else { return .missing }
    let count = row.record.bytes
    switch directory.open(file, count: count, allowsWaiting: true) {
    case .missing: return .missing
    case .wouldWait: return .missing
    case .damaged(let reason): return .damaged(reason)
    case .failed(let failure): throw DiskTrouble(failure)
    case .file(let descriptor):
      do throws(SystemFailure) {
        guard let payload = try DiskDirectory.read(descriptor, count: count) else {
          return .damaged("it has not \(count) bytes")
        }
        if verifies, BodyChecksum(of: payload) != row.checksum {
          return .damaged("its checksum is another")
        }
        return .loaded(row, payload)
      } catch { throw DiskTrouble(error) }
    }
  }

  /// Whether the file is what the index says, for who does not want to wait for a disk.
  func check(_ file: PictureFile, count: Int) -> LoadAnswer? {
    guard let directory else { return .missing }
    switch directory.open(file, count: count, allowsWaiting: true) {
    case .file: return nil
    case .missing: return .missing
    case .wouldWait: return .missing
    case .damaged(let reason): return .damaged(reason)
    case .failed(let failure): return .failed(DiskTrouble(failure))
    }
  }

  // MARK: Rows

  func row(_ number: UInt32) throws(DiskTrouble) -> IndexRow? {
    try ask { index throws(IndexProblem) in try index.row(number: number) } ?? nil
  }

  func record(_ digest: KeyDigest) throws(DiskTrouble) -> IndexRecord? {
    try ask { index throws(IndexProblem) in
      try index.record(digestHigh: digest.high, low: digest.low)
    } ?? nil
  }

  func page(
    after number: UInt32, limit: Int, prefix: String?
  ) throws(DiskTrouble) -> (rows: [IndexRow], next: UInt32?)? {
    try ask { index throws(IndexProblem) in
      try index.page(after: number, limit: limit, examined: Self.mostExamined, prefix: prefix)
    }
  }

  private static let mostExamined = 10_000

  private func ask<Answer>(
    _ body: (IndexFile) throws(IndexProblem) -> Answer
  ) throws(DiskTrouble) -> Answer? {
    guard let index else { return nil }
    do throws(IndexProblem) {
      return try body(index)
    } catch { throw DiskTrouble(error) }
  }

  // MARK: The start

  /// Reads on through all records; true when they are all here, the most recently used first.
  ///
  /// In parts, so that a picture that somebody waits for is never far behind.
  func gather(_ limit: Int) throws(DiskTrouble) -> Bool {
    let part =
      try ask { index throws(IndexProblem) in
        try index.records(after: lastNumber, limit: limit)
      } ?? []
    records += part
    if let last = part.last { lastNumber = last.number }
    guard part.count < limit else { return false }
    // Numbers are sorted, not records: whoever waits for a picture waits for this too.
    order = records.indices.map { UInt64(clamping: records[$0].lastAccess) << 32 | UInt64($0) }
    order.sort()
    return true
  }

  /// Some of the gathered records, and whether there are more.
  func takeRecords(_ limit: Int) -> (records: [IndexRecord], isLast: Bool) {
    let part = order.suffix(limit).reversed().map {
      records[Int(truncatingIfNeeded: $0 & 0xFFFF_FFFF)]
    }
    order.removeLast(part.count)
    guard order.isEmpty else { return (part, false) }
    records = []
    order = []
    Heap.giveBack()
    return (part, true)
  }
}
