// The thread of the disk tier that writes: files, and the index file that names them.
//
// At every moment each file has a row that names it. A store commits its row before it links the
// file; a removal moves the row to the doomed ones and commits before it removes the file. So a kill
// between two steps leaves a row without a file, or a doomed row, and never a file that nobody
// knows.

import Glibc
internal import ImgdSystem

/// One picture on its way to the disk.
struct StoreOrder: Sendable {
  /// Its number and the room it takes are filled in when they are known.
  var row: IndexRow
  let payload: Payload
  /// Until when the file that it replaces stays.
  let keepReplacedUntil: Int64
}

/// What there is after the directory and its index were opened.
struct DiskOpening: Sendable {
  let directory: DiskDirectory
  /// The last owner of the index closed it in order.
  let wasClean: Bool
  /// All entries, the most recently used first; nil when they are too many to wait for.
  let records: [IndexRecord]?
  /// Why an earlier index was given up; nil when there was none, or a sound one.
  var loss: String?
}

final class DiskWriter {
  /// What is read in one go when the index is opened.
  private static let mostAtOnce = 4_096

  private var directory: DiskDirectory?
  private var index: IndexFile?

  /// Takes charge of a directory, and opens its index or begins a new one.
  func open(_ directory: DiskDirectory) throws(DiskTrouble) -> DiskOpening {
    close()
    self.directory = directory
    // Somebody may have removed the index and left the files.
    let isNew = unsafe access(directory.indexPath, F_OK) != 0
    do throws(IndexProblem) {
      let index = try IndexFile(path: directory.indexPath, access: .readWrite)
      self.index = index
      let records = try index.records(after: 0, limit: Self.mostAtOnce)
      return DiskOpening(
        directory: directory, wasClean: index.wasClean && !isNew,
        records: records.count < Self.mostAtOnce
          ? records.sorted { $0.lastAccess > $1.lastAccess } : nil)
    } catch {
      let trouble = DiskTrouble(error)
      guard trouble.kind == .indexLost else { throw trouble }
      var opening = try beginAnew(in: directory)
      opening.loss = trouble.reason
      return opening
    }
  }

  /// Opens what the path leads to now: the directory was removed, or could not be opened before.
  ///
  /// An index that was damaged further inside than opening looks is given up.
  func reopen(_ path: String, beginningAnew: Bool) throws(DiskTrouble) -> DiskOpening {
    // The lock goes with the directory, so that it can be taken again.
    close()
    let directory: DiskDirectory
    do throws(DirectoryProblem) {
      directory = try DiskDirectory.open(path)
    } catch {
      throw DiskTrouble(.broken, error.description)
    }
    guard beginningAnew else { return try open(directory) }
    self.directory = directory
    return try beginAnew(in: directory)
  }

  /// An index that cannot be read is kept for whoever wants to look at it. Its pictures are lost to
  /// us: they are found without a row, and removed.
  private func beginAnew(in directory: DiskDirectory) throws(DiskTrouble) -> DiskOpening {
    try? index?.close(clean: false)
    do throws(IndexProblem) {
      try IndexFile.setAside(path: directory.indexPath)
      index = try IndexFile(path: directory.indexPath, access: .readWrite)
      return DiskOpening(directory: directory, wasClean: false, records: [])
    } catch {
      throw DiskTrouble(error)
    }
  }

  /// Closes the index in order, with the last uses noted.
  func close(_ uses: [(number: UInt32, at: Int64)]) {
    let saved = (try? note(uses)) != nil
    try? index?.close(clean: saved)
    index = nil
    directory = nil
  }

  private func close() {
    // What cannot be closed in order is repaired when it is opened again.
    try? index?.close(clean: false)
    index = nil
    directory = nil
  }

  /// What is said of a call in a directory that was removed tells nothing; that it was does.
  private func explained(_ trouble: DiskTrouble) -> DiskTrouble {
    guard trouble.kind != .full, directory?.isInPlace() == false else { return trouble }
    return DiskTrouble(.gone, "the cache directory was removed")
  }

  // MARK: Storing

  /// A picture that has been copied and has no name yet.
  private final class Draft {
    let prepared: PreparedFile
    init(_ prepared: consuming PreparedFile) { self.prepared = prepared }
  }

  /// Stores some pictures under one commit; each has its own outcome.
  func store(
    _ orders: [StoreOrder], keepingFree minFree: DiskTier.MinFree
  ) -> [Result<IndexRecord, DiskTrouble>] {
    guard let directory, index != nil else {
      return orders.map { _ in .failure(DiskTrouble(.gone, "the directory is not open")) }
    }
    var rows = orders.map(\.row)
    var outcomes = [Result<IndexRecord, DiskTrouble>?](repeating: nil, count: orders.count)
    var drafts = [Draft?](repeating: nil, count: orders.count)
    for place in orders.indices {
      do throws(DiskTrouble) {
        let draft = try prepare(orders[place], in: directory, keepingFree: minFree)
        rows[place].record.allocated = draft.prepared.allocated
        rows[place].seal(orders[place].payload)
        drafts[place] = draft
      } catch { outcomes[place] = .failure(error) }
    }
    let kept = drafts.indices.filter { drafts[$0] != nil }
    var retired: [DoomedFile] = []
    do throws(DiskTrouble) {
      try commit { index throws(IndexProblem) in
        for place in kept {
          let added = try index.insert(rows[place], retiring: orders[place].keepReplacedUntil)
          rows[place].record.number = added.number
          if let file = added.retired { retired.append(file) }
        }
      }
    } catch {
      return outcomes.map { $0 ?? .failure(error) }
    }
    for place in kept {
      if let draft = drafts[place] { outcomes[place] = link(draft, as: rows[place]) }
    }
    try? remove(retired.filter { $0.keepUntil <= 0 })
    return outcomes.map { $0 ?? .failure(DiskTrouble(.broken, "a picture was not stored")) }
  }

  private func prepare(
    _ order: StoreOrder, in directory: DiskDirectory, keepingFree minFree: DiskTier.MinFree
  ) throws(DiskTrouble) -> Draft {
    do throws(SystemFailure) {
      let space = try directory.freeSpace()
      let missing = minFree.bytes(of: space.total) + order.payload.count - space.free
      if missing > 0, minFree.isOn {
        throw SystemFailure("keep free what Disk.MinFree wants", errno: ENOSPC)
      }
      return Draft(try directory.prepare(order.payload))
    } catch {
      throw explained(DiskTrouble(error))
    }
  }

  /// A row whose file could not be linked goes again.
  private func link(_ draft: Draft, as row: IndexRow) -> Result<IndexRecord, DiskTrouble> {
    guard let directory, let file = row.file else {
      return .failure(DiskTrouble(.gone, "the directory is not open"))
    }
    do throws(SystemFailure) {
      do throws(SystemFailure) {
        try directory.link(draft.prepared, as: file)
      } catch {
        // After an index was lost, numbers begin again: no row knows of the file that has the name.
        guard error.errno == EEXIST else { throw error }
        try directory.remove(file)
        try directory.link(draft.prepared, as: file)
      }
      return .success(row.record)
    } catch {
      try? doom([row.record.number], leases: [:], at: .max)
      return .failure(explained(DiskTrouble(error)))
    }
  }

  /// The origin has confirmed a stored picture: the file stays, its row is new.
  func renew(_ row: IndexRow) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in _ = try index.renew(row) }
  }

  func note(_ uses: [(number: UInt32, at: Int64)]) throws(DiskTrouble) {
    guard !uses.isEmpty else { return }
    try commit { index throws(IndexProblem) in try index.touch(uses) }
  }

  /// Whether a picture could be written now.
  func probe() throws(DiskTrouble) {
    guard let directory else { throw DiskTrouble(.gone, "the directory is not open") }
    guard directory.isInPlace() else { throw DiskTrouble(.gone, "the directory was removed") }
    do throws(SystemFailure) {
      _ = try directory.prepare(Payload([0]))
    } catch { throw DiskTrouble(error) }
    try commit { index throws(IndexProblem) in try index.forget([]) }
  }

  var isInPlace: Bool { directory?.isInPlace() == true }

  // MARK: Removing

  /// Removes entries; files whose path was promised stay until the promise is over.
  func doom(
    _ numbers: [UInt32], leases: [UInt32: Int64], at wall: Int64
  ) throws(DiskTrouble) {
    var files: [DoomedFile] = []
    try commitRemoval(
      of: { _ in numbers }, leases: leases,
      by: { index throws(IndexProblem) in
        files = try index.doom(numbers) { leases[$0] ?? 0 }
      })
    try remove(files.filter { $0.keepUntil <= wall })
  }

  /// Removes every entry.
  func doomAll(leases: [UInt32: Int64], at wall: Int64) throws(DiskTrouble) {
    try commitRemoval(
      of: { index throws(IndexProblem) in
        try index.numbers(matching: IndexFilter()).map(\.number)
      }, leases: leases,
      by: { index throws(IndexProblem) in
        _ = try index.doomAll(keepUntil: 0, except: leases)
      })
    try carryOut(at: wall)
  }

  /// Finds what matches, and removes it or marks it stale in the same commit.
  func purge(
    _ filter: IndexFilter, soft: Bool, leases: [UInt32: Int64]
  ) throws(DiskTrouble) -> [IndexMatch] {
    var matches: [IndexMatch] = []
    try commitRemoval(
      of: { index throws(IndexProblem) in
        soft ? [] : try index.numbers(matching: filter).map(\.number)
      }, leases: leases,
      by: { index throws(IndexProblem) in
        matches = try index.numbers(matching: filter)
        let numbers = matches.map(\.number)
        if soft {
          try index.markStale(numbers)
        } else {
          _ = try index.doom(numbers) { leases[$0] ?? 0 }
        }
      })
    return matches
  }

  /// Removes the files whose time has come; answers when the next one's comes.
  @discardableResult
  func carryOut(at wall: Int64) throws(DiskTrouble) -> Int64? {
    var files: [DoomedFile] = []
    try commit { index throws(IndexProblem) in files = try index.doomed() }
    try remove(files.filter { $0.keepUntil <= wall })
    return files.lazy.map(\.keepUntil).filter { $0 > wall }.min()
  }

  /// A file that cannot be removed stays doomed, and is tried again at the next start.
  private func remove(_ files: [DoomedFile]) throws(DiskTrouble) {
    guard let directory, !files.isEmpty else { return }
    let gone = files.filter { doomed in
      guard let file = doomed.file else { return true }
      return (try? directory.remove(file)) != nil
    }
    try commit { index throws(IndexProblem) in try index.forget(gone.map(\.number)) }
  }

  /// Commits a removal. Where there is not even room for that, the files go first, as long as nobody
  /// has been promised them: a row without its file is a miss.
  private func commitRemoval(
    of numbers: (IndexFile) throws(IndexProblem) -> [UInt32], leases: [UInt32: Int64],
    by body: (IndexFile) throws(IndexProblem) -> Void
  ) throws(DiskTrouble) {
    do throws(DiskTrouble) {
      try commit(body)
    } catch {
      guard error.kind == .full, let directory, let index, let found = try? numbers(index)
      else { throw error }
      for number in found where leases[number] == nil {
        guard let row = try? index.row(number: number), let file = row.file else { continue }
        try? directory.remove(file)
      }
      try commit(body)
    }
  }

  fileprivate func commit(
    _ body: (IndexFile) throws(IndexProblem) -> Void
  ) throws(DiskTrouble) {
    guard let index else { throw DiskTrouble(.gone, "the index is not open") }
    do throws(IndexProblem) {
      try index.write { () throws(IndexProblem) in try body(index) }
    } catch {
      throw explained(DiskTrouble(error))
    }
  }
}

// MARK: After an unclean stop

extension DiskWriter {
  /// Compares the files on some shelves with their rows: a file without a row is removed, a row
  /// without its file too. Answers the rows that went.
  func lookThrough(shelves: Range<Int>) throws(DiskTrouble) -> [IndexMatch] {
    var lost: [IndexMatch] = []
    for shelf in shelves { lost += try lookThrough(shelf: shelf) }
    return lost
  }

  private func lookThrough(shelf number: Int) throws(DiskTrouble) -> [IndexMatch] {
    guard let directory else { throw DiskTrouble(.gone, "the directory is not open") }
    let shelf: Shelf
    do throws(SystemFailure) {
      shelf = try directory.files(onShelf: number)
    } catch { throw DiskTrouble(error) }
    var named: [IndexMatch] = []
    var doomed: Set<UInt32> = []
    try commit { index throws(IndexProblem) in
      named = try index.matches(onShelf: number)
      doomed = Set(try index.doomed().map(\.number))
    }
    let rows = Dictionary(uniqueKeysWithValues: named.map { ($0.number, $0) })
    var found: Set<UInt32> = []
    for (file, _) in shelf.pictures {
      let row = rows[file.number]
      if let row, row.digestHigh == file.digest.high, row.digestLow == file.digest.low {
        found.insert(file.number)
      } else if !doomed.contains(file.number) {
        try? directory.remove(file)
      }
    }
    let lost = named.filter { !found.contains($0.number) }
    if !lost.isEmpty { try doom(lost.map(\.number), leases: [:], at: .max) }
    return lost
  }
}
