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
  /// Entries up to this number are gone, whose rows may still be there.
  var cleared: UInt32 = 0
  /// Why an earlier index was given up; nil when there was none, or a sound one.
  var loss: String?
}

final class DiskWriter {
  /// What is read in one go when the index is opened.
  private static let mostAtOnce = 4_096

  private var directory: DiskDirectory?
  private(set) var index: IndexFile?
  /// A purge that is looking for what it means.
  var search: IndexSearch?

  /// Takes charge of a directory, and opens its index or begins a new one.
  func open(_ directory: DiskDirectory) throws(DiskTrouble) -> DiskOpening {
    close()
    self.directory = directory
    // Somebody may have removed the index and left the files.
    let isNew = unsafe access(directory.indexPath, F_OK) != 0
    let mayHoldFiles = isNew && !directory.isEmpty
    do throws(IndexProblem) {
      let index = try IndexFile(path: directory.indexPath, access: .readWrite)
      self.index = index
      let cleared = try index.cleared()
      let records = try index.records(after: cleared, limit: Self.mostAtOnce)
      return DiskOpening(
        directory: directory, wasClean: index.wasClean && !mayHoldFiles,
        records: records.count < Self.mostAtOnce
          ? records.sorted { $0.lastAccess > $1.lastAccess } : nil, cleared: cleared)
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

  func giveBack() {
    index?.giveBack()
  }

  /// Closes the index in order, with the last uses noted. It counts as clean when what lies in the
  /// directory is known to be what it says.
  func close(_ uses: [(number: UInt32, at: Int64)], isLookedThrough: Bool) {
    let saved = (try? note(uses)) != nil && isLookedThrough
    search = nil
    try? index?.close(clean: saved)
    index = nil
    directory = nil
  }

  private func close() {
    // What cannot be closed in order is repaired when it is opened again.
    search = nil
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
      if try missing(order.payload.count, in: directory, keepingFree: minFree) > 0 {
        throw SystemFailure("keep free what Disk.MinFree wants", errno: ENOSPC)
      }
      return Draft(try directory.prepare(order.payload))
    } catch {
      throw explained(DiskTrouble(error))
    }
  }

  /// How many bytes have to go before `count` can be written.
  private func missing(
    _ count: Int, in directory: DiskDirectory, keepingFree minFree: DiskTier.MinFree
  ) throws(SystemFailure) -> Int {
    guard minFree.isOn else { return 0 }
    let space = try directory.freeSpace()
    let (wanted, isTooMuch) = minFree.bytes(of: space.total).addingReportingOverflow(count)
    return isTooMuch ? .max : max(wanted - space.free, 0)
  }

  /// How many bytes have to go so that as much is free as shall be.
  func missing(keepingFree minFree: DiskTier.MinFree) throws(DiskTrouble) -> Int {
    guard let directory else { throw DiskTrouble(.gone, "the directory is not open") }
    do throws(SystemFailure) {
      return try missing(0, in: directory, keepingFree: minFree)
    } catch { throw explained(DiskTrouble(error)) }
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
  func probe(keepingFree minFree: DiskTier.MinFree) throws(DiskTrouble) {
    guard let directory else { throw DiskTrouble(.gone, "the directory is not open") }
    guard directory.isInPlace() else { throw DiskTrouble(.gone, "the directory was removed") }
    do throws(SystemFailure) {
      _ = try directory.prepare(Payload([0]))
      if try missing(1, in: directory, keepingFree: minFree) > 0 {
        throw SystemFailure("keep free what Disk.MinFree wants", errno: ENOSPC)
      }
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
      of: numbers, leases: leases,
      by: { index throws(IndexProblem) in
        files = try index.doom(numbers) { leases[$0] ?? 0 }
      })
    try remove(files.filter { $0.keepUntil <= wall })
  }

  /// A file that cannot be removed stays doomed, and is tried again at the next start.
  func remove(_ files: [DoomedFile]) throws(DiskTrouble) {
    guard let directory, !files.isEmpty else { return }
    let gone = files.filter { doomed in
      guard let file = doomed.file else { return true }
      return (try? directory.remove(file)) != nil
    }
    try commit { index throws(IndexProblem) in try index.forget(gone.map(\.number)) }
  }

  /// Commits the removal of some entries. Where there is not even room for that, the files go first,
  /// as long as nobody has been promised them: a row without its file is a miss.
  func commitRemoval(
    of numbers: [UInt32], leases: [UInt32: Int64],
    by body: (IndexFile) throws(IndexProblem) -> Void
  ) throws(DiskTrouble) {
    do throws(DiskTrouble) {
      try commit(body)
    } catch {
      guard error.kind == .full, let directory, let index else { throw error }
      for number in numbers where leases[number] == nil {
        guard let row = try? index.row(number: number), let file = row.file else { continue }
        try? directory.remove(file)
      }
      try commit(body)
    }
  }

  func commit(
    _ body: (IndexFile) throws(IndexProblem) -> Void
  ) throws(DiskTrouble) {
    guard let index else { throw DiskTrouble(.gone, "the index is not open") }
    do throws(IndexProblem) {
      try index.write { () throws(IndexProblem) in try body(index) }
    } catch {
      throw explained(DiskTrouble(error))
    }
    guard index.isInPlace else { throw DiskTrouble(.gone, "the index file was removed") }
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
    let named = try read { index throws(IndexProblem) in try index.matches(onShelf: number) }
    let rows = Dictionary(uniqueKeysWithValues: named.map { ($0.number, $0) })
    var found: Set<UInt32> = []
    for (file, _) in shelf.pictures {
      let row = rows[file.number]
      if let row, row.digestHigh == file.digest.high, row.digestLow == file.digest.low {
        found.insert(file.number)
      } else if try !isDoomed(file) {
        try? directory.remove(file)
      }
    }
    let lost = named.filter { !found.contains($0.number) }
    if !lost.isEmpty { try doom(lost.map(\.number), leases: [:], at: .max) }
    return lost
  }

  private func isDoomed(_ file: PictureFile) throws(DiskTrouble) -> Bool {
    try read { index throws(IndexProblem) in
      try index.isDoomed(file.number, digestHigh: file.digest.high, low: file.digest.low)
    }
  }

  func read<Answer>(
    _ body: (IndexFile) throws(IndexProblem) -> Answer
  ) throws(DiskTrouble) -> Answer {
    guard let index else { throw DiskTrouble(.gone, "the index is not open") }
    do throws(IndexProblem) { return try body(index) } catch { throw DiskTrouble(error) }
  }
}
