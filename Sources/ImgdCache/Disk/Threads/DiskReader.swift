// The thread of the disk tier that reads pictures with their records, and the index at the start.
//
// It has a connection of its own, so that reading never waits for a write.

internal import ImgdSystem

/// What the reader has found of a picture's file.
enum FileAnswer<Found: Sendable>: Sendable {
  /// `stamp` is the stamp that the file had when its bytes matched their checksum.
  case sound(Found, stamp: UInt64)
  case missing
  case damaged(String)
  case failed(DiskTrouble)

  func map<Other: Sendable>(_ change: (Found) -> Other) -> FileAnswer<Other> {
    switch self {
    case .sound(let found, let stamp): .sound(change(found), stamp: stamp)
    case .missing: .missing
    case .damaged(let reason): .damaged(reason)
    case .failed(let trouble): .failed(trouble)
    }
  }
}

final class DiskReader {
  private static let mostExamined = 10_000

  private var gathering = EntryGathering()
  /// It is freed before its directory, whose lock it needs.
  private var index: IndexFile?
  private var directory: DiskDirectory?

  func open(_ directory: DiskDirectory) throws(DiskTrouble) {
    close()
    self.directory = directory
    do throws(IndexProblem) { index = try IndexFile(path: directory.indexPath, access: .readOnly) } catch {
      throw DiskTrouble(error)
    }
  }

  func close() {
    try? index?.close(clean: false)
    index = nil
    directory = nil
    gathering = EntryGathering()
  }

  func giveBack() { index?.giveBack() }

  /// A picture with its record; the record alone if the bytes have gone.
  func load(_ number: UInt32) -> FileAnswer<(StoredRecord, Payload?)> {
    do throws(DiskTrouble) {
      guard let row = try row(number), let file = row.file else { return .missing }
      if row.isAway { return .sound((row.record, nil), stamp: 0) }
      return read(file, count: row.record.bytes, checksum: row.record.checksum).map { (row.record, $0) }
    } catch { return .failed(error) }
  }

  func compare(_ file: PictureFile, count: Int, checksum: BodyChecksum) -> FileAnswer<Void> {
    read(file, count: count, checksum: checksum).map { _ in }
  }

  private func read(_ file: PictureFile, count: Int, checksum: BodyChecksum) -> FileAnswer<Payload> {
    guard let directory else { return .missing }
    switch directory.pictures.open(file, count: count, allowsWaiting: true) {
    case .missing: return .missing
    case .wouldWait: return .missing
    case .damaged(let reason): return .damaged(reason)
    case .failed(let failure): return .failed(DiskTrouble(failure))
    case .file(let descriptor, let stamp):
      do throws(SystemFailure) {
        guard let payload = try Payload.read(descriptor, count: count) else {
          return .damaged("it has not \(count) bytes")
        }
        guard BodyChecksum(of: payload) == checksum else { return .damaged("its checksum is another") }
        return .sound(payload, stamp: stamp)
      } catch { return .failed(DiskTrouble(error)) }
    }
  }

  func row(_ number: UInt32) throws(DiskTrouble) -> IndexRow? {
    try ask { index throws(IndexProblem) in try index.entries.row(number: number) } ?? nil
  }

  func row(of digest: KeyDigest) throws(DiskTrouble) -> IndexRow? {
    guard let entry = try entry(of: digest) else { return nil }
    return try row(entry.number)
  }

  func rows(ofBase base: UInt32, limit: Int) throws(DiskTrouble) -> [IndexRow] {
    let entries = try ask { index throws(IndexProblem) in try index.entries.entries(ofBase: base, limit: limit) } ?? []
    var rows: [IndexRow] = []
    for entry in entries { if let row = try row(entry.number) { rows.append(row) } }
    return rows
  }

  func entry(of digest: KeyDigest) throws(DiskTrouble) -> DiskEntry? {
    try ask { index throws(IndexProblem) in try index.entries.entry(of: digest) } ?? nil
  }

  func page(after number: UInt32, limit: Int, of names: PurgeFilter, containing part: URLPart?) throws(DiskTrouble)
    -> (rows: [IndexRow], next: UInt32?)?
  {
    try ask { index throws(IndexProblem) in
      try index.entries.page(after: number, limit: limit, examined: Self.mostExamined, of: names, containing: part)
    }
  }

  private func ask<Answer>(_ body: (IndexFile) throws(IndexProblem) -> Answer) throws(DiskTrouble) -> Answer? {
    guard let index else { return nil }
    do throws(IndexProblem) { return try body(index) } catch { throw DiskTrouble(error) }
  }

  /// Reads the next part of all entries, so that a client's picture never has to wait long for the reader; true once
  /// all have been read.
  func gather(_ limit: Int) throws(DiskTrouble) -> Bool {
    let last = gathering.lastNumber
    let part = try ask { index throws(IndexProblem) in try index.entries.entries(after: last, limit: limit) } ?? []
    return gathering.add(part, isLast: part.count < limit)
  }

  /// Some of the gathered entries, the most recently used first, and whether they were the last.
  func takeEntries(_ limit: Int) -> (entries: [DiskEntry], isLast: Bool) {
    let part = gathering.takeEntries(most: limit)
    guard gathering.isEmpty else { return (part, false) }
    gathering = EntryGathering()
    Heap.giveBack()
    return (part, true)
  }
}

/// The entries of an index that is being read, brought into the order of their last use.
struct EntryGathering {
  private(set) var lastNumber: UInt32 = 0
  private var entries: [DiskEntry] = []
  /// The order in which entries are taken: in each number, the time of the last use and the place in `entries`.
  private var order: [UInt64] = []

  var isEmpty: Bool { order.isEmpty }

  /// Takes in a part of the entries. After the last part it sorts all of them, and returns true.
  mutating func add(_ part: [DiskEntry], isLast: Bool) -> Bool {
    entries += part
    if let last = part.last { lastNumber = last.number }
    guard isLast else { return false }
    // Sorting numbers is faster than sorting entries, and a client's picture may have to wait for it.
    order = entries.indices.map { UInt64(entries[$0].lastAccess) << 32 | UInt64($0) }
    order.sort()
    return true
  }

  mutating func takeEntries(most limit: Int) -> [DiskEntry] {
    let part = order.suffix(limit).reversed().map { entries[Int(truncatingIfNeeded: $0 & 0xFFFF_FFFF)] }
    order.removeLast(part.count)
    return part
  }
}
