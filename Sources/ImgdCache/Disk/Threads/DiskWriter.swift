// The thread of the disk tier that writes files, and the index file that names them.
//
// At every moment each file has a row that names it. A store commits its row before it links the file; a removal
// moves the row to the pending unlinks and commits before it removes the file. So a kill between two steps leaves a
// row without a file, or a pending unlink, and never a file that no row names.

import Glibc
internal import ImgdSystem

/// A directory and its index that have just been opened.
struct OpenedDisk: Sendable {
  let directory: DiskDirectory
  let wasClean: Bool
  /// All entries, the most recently used first; nil if there are too many to wait for.
  var entries: [DiskEntry]?
  var removals: [RemovalOrder] = []
  var fleet = FleetNotes()
  /// What an earlier process has left and could not be used; nil if there was nothing of that kind.
  var loss: String?
  /// Whether this process had another directory before, so that this one has missed what happened there.
  var isAnother = false

  /// Entries up to this number are gone, though their rows may still be there.
  var cleared: UInt32 { removals.filter(\.takesEverything).map(\.ceiling).max() ?? 0 }
}

/// The state of the writer's thread: the directory and the index, as long as they are open.
final class DiskWriter {
  private static let mostAtOnce = 4_096

  let owed: OwedFile
  private var opened: OpenDisk?

  init(owed: OwedFile) { self.owed = owed }

  func disk() throws(DiskTrouble) -> OpenDisk {
    guard let opened else { throw DiskTrouble(.gone, "the directory is not open") }
    return opened
  }

  /// Takes charge of a directory, and opens its index or begins a new one.
  func open(_ directory: DiskDirectory) throws(DiskTrouble) -> OpenedDisk {
    close()
    // The index may have been removed, but not the files.
    let isNew = unsafe access(directory.indexPath, F_OK) != 0
    let mayHoldFiles = isNew && !directory.pictures.isEmpty
    do throws(IndexProblem) {
      let (index, isWhole) = try openIndex(in: directory)
      let disk = OpenDisk(directory, index: index)
      opened = disk
      let (owed, areKnown) = takeOwed(disk)
      var all = try read(index, in: directory, isClean: index.wasClean && isWhole && !mayHoldFiles)
      all.removals += owed
      if !isWhole { all.loss = "the disk is full: some pictures were removed to make room for the index" }
      if !areKnown { all.loss = "purges that were written down cannot be read, so everything is removed" }
      return all
    } catch {
      let trouble = DiskTrouble(error)
      guard trouble.kind == .indexLost else { throw trouble }
      var new = try beginAnew(in: directory)
      new.loss = trouble.reason + "; it is set aside"
      return new
    }
  }

  /// Opens the index, and returns whether all pictures are still there that it names: on a full disk some may have to go
  /// for it.
  private func openIndex(in directory: DiskDirectory) throws(IndexProblem) -> (index: IndexFile, isWhole: Bool) {
    do throws(IndexProblem) { return (try IndexFile(path: directory.indexPath, access: .readWrite), true) } catch {
      guard DiskTrouble(error).kind == .full, IndexRoom(directory: directory).make() else { throw error }
      return (try IndexFile(path: directory.indexPath, access: .readWrite), false)
    }
  }

  /// Writes purges into the index that an earlier process could not write there; returns them if that fails again.
  private func takeOwed(_ disk: OpenDisk) -> (orders: [RemovalOrder], areKnown: Bool) {
    let (orders, areKnown) = owed.read()
    guard !orders.isEmpty else { return ([], true) }
    guard let recorded = try? EntryRemoval(disk: disk).record(orders), recorded.allSatisfy({ $0.id != nil }) else {
      return (orders, areKnown)
    }
    owed.remove()
    return ([], areKnown)
  }

  /// Writes purges down and carries them out before the end, as far as time allows.
  func finish(_ orders: [RemovalOrder], leases: LeaseEnds, within time: Duration) {
    var left = orders
    if let opened { left = LastRemovals(disk: opened, leases: leases).carryOut(recording: orders, within: time) }
    if left.isEmpty { owed.remove() } else { try? owed.write(left) }
  }

  private func read(_ index: IndexFile, in directory: DiskDirectory, isClean: Bool) throws(IndexProblem) -> OpenedDisk {
    let (removals, fleet) = (try index.removals.all(), try index.fleet.all())
    var all = OpenedDisk(directory: directory, wasClean: isClean, removals: removals, fleet: fleet)
    let entries = try index.entries.entries(after: all.cleared, limit: Self.mostAtOnce)
    if entries.count < Self.mostAtOnce { all.entries = entries.sorted { $0.lastAccess > $1.lastAccess } }
    return all
  }

  /// Opens what the path leads to now: the directory was removed, or could not be opened before.
  ///
  /// With `beginningAnew` the index is given up: it is damaged in a place that opening does not look at.
  func reopen(_ path: String, beginningAnew: Bool) throws(DiskTrouble) -> OpenedDisk {
    // This releases the lock with the directory, so that it can be taken again.
    close()
    let directory: DiskDirectory
    do throws(DirectoryProblem) { directory = try DiskDirectory.open(path) } catch { throw DiskTrouble(error) }
    return beginningAnew ? try beginAnew(in: directory) : try open(directory)
  }

  /// Begins a new index. The old one, which cannot be read, is set aside for an operator who wants to look at it.
  /// Its pictures are lost to us: they are found to have no row, and removed.
  private func beginAnew(in directory: DiskDirectory) throws(DiskTrouble) -> OpenedDisk {
    close()
    do throws(IndexProblem) {
      try IndexPlace.setAside(path: directory.indexPath)
      opened = OpenDisk(directory, index: try openIndex(in: directory).index)
      return OpenedDisk(directory: directory, wasClean: false, entries: [])
    } catch { throw DiskTrouble(error) }
  }

  func giveBack() { opened?.giveBack() }

  /// Closes the index properly, with the last uses noted. It counts as clean when the files in the
  /// directory are known to be what it says.
  func close(_ uses: [Use], isChecked: Bool) {
    let saved = (try? opened?.note(uses)) != nil
    opened?.close(clean: saved && isChecked)
    opened = nil
  }

  private func close() {
    // An index that cannot be closed properly is repaired when it is opened again.
    opened?.close(clean: false)
    opened = nil
  }
}

/// A use of an entry that has not been written to the index file yet.
typealias Use = (number: UInt32, at: Int64)

/// The directory and the index file while they are open for writing; it finds out the reasons for trouble.
final class OpenDisk {
  private static let mostExamined = 4_096
  /// How many entries are found in one go: they all leave the index in memory in one tick of the control loop.
  static let mostFound = 256

  // Without a stop they are freed in this order: the index has to be closed when the lock of its directory is let go.

  private var search: IndexSearch?
  private var scan: IndexScan?
  private let index: IndexFile
  let shelves: PictureShelves
  let directory: DiskDirectory

  init(_ directory: DiskDirectory, index: IndexFile) {
    self.directory = directory
    shelves = PictureShelves(directory.pictures)
    self.index = index
  }

  var pictures: PictureDirectory { directory.pictures }

  func giveBack() {
    index.giveBack()
    shelves.letGo()
  }

  func close(clean: Bool) {
    (search, scan) = (nil, nil)
    try? index.close(clean: clean)
  }

  func commit<Answer>(_ body: (IndexFile) throws(IndexProblem) -> Answer) throws(DiskTrouble) -> Answer {
    let answer: Answer
    do throws(IndexProblem) { answer = try index.write { () throws(IndexProblem) in try body(index) } } catch {
      throw explained(DiskTrouble(error))
    }
    guard index.isInPlace else { throw DiskTrouble(.gone, "the index file was removed") }
    return answer
  }

  func read<Answer>(_ body: (IndexFile) throws(IndexProblem) -> Answer) throws(DiskTrouble) -> Answer {
    do throws(IndexProblem) { return try body(index) } catch { throw DiskTrouble(error) }
  }

  func sync() throws(DiskTrouble) {
    do throws(IndexProblem) { try index.sync() } catch { throw explained(DiskTrouble(error)) }
  }

  func note(_ uses: [Use]) throws(DiskTrouble) {
    guard !uses.isEmpty else { return }
    try commit { index throws(IndexProblem) in try index.entries.touch(uses) }
  }

  func renew(_ row: IndexRow) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in _ = try index.entries.renew(row) }
  }

  /// Marks entries so that their origin has to confirm them, and in the same commit removes the row of
  /// the purge whose last ones they are.
  func markStale(_ numbers: [UInt32], closing id: Int64?) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in
      try index.entries.markStale(numbers)
      if let id { try index.removals.remove(id) }
    }
  }

  /// Looks for the entries that purges cover among as many rows as fit into one go; returns one part for each purge
  /// that it got to.
  ///
  /// With `goingOn` the first purge goes on where the last call left off.
  func find(_ orders: [RemovalOrder], goingOn: Bool = false) throws(DiskTrouble) -> [SearchPart] {
    do throws(IndexProblem) { return close(try find(orders, goingOn), of: orders, goingOn: goingOn) } catch {
      search = nil
      throw explained(DiskTrouble(error))
    }
  }

  private func find(_ orders: [RemovalOrder], _ goesOn: Bool) throws(IndexProblem) -> [SearchPart] {
    var parts: [SearchPart] = []
    var (left, room) = (Self.mostExamined, Self.mostFound)
    for (place, order) in orders.enumerated() where left > 0 && room > 0 {
      let search = try place == 0 && goesOn ? self.search : index.search(order)
      guard let search else { throw .closed }
      self.search = search
      let part = try search.next(examining: left, finding: room)
      parts.append(SearchPart(matches: part.matches, isLast: part.isLast))
      guard part.isLast else { break }
      self.search = nil
      left -= max(part.examined, 64)
      room -= part.matches.count
    }
    return parts
  }

  /// Looks for the entries that purges cover in one pass over all entries; returns one part for each purge.
  func scan(_ orders: [RemovalOrder], goingOn: Bool = false) throws(DiskTrouble) -> [SearchPart] {
    do throws(IndexProblem) {
      if !goingOn { scan = try index.scan(orders) }
      guard let scan else { throw .closed }
      let part = try scan.next(examining: Self.mostExamined, finding: Self.mostFound)
      if part.isLast { self.scan = nil }
      let parts = part.matches.map { SearchPart(matches: $0, isLast: part.isLast) }
      return goingOn ? parts : close(parts, of: orders, goingOn: false)
    } catch {
      scan = nil
      throw explained(DiskTrouble(error))
    }
  }

  /// Removes the rows of purges that have found nothing from beginning to end. If that is refused, the step that
  /// removes entries does it.
  private func close(_ parts: [SearchPart], of orders: [RemovalOrder], goingOn: Bool) -> [SearchPart] {
    let ended = parts.indices.filter { parts[$0].isLast && parts[$0].matches.isEmpty && ($0 > 0 || !goingOn) }
    let ids = ended.compactMap { orders[$0].id }
    if !ids.isEmpty {
      let closed: Void? = try? commit { index throws(IndexProblem) in for id in ids { try index.removals.remove(id) } }
      if closed == nil { return parts }
    }
    var parts = parts
    for place in ended { parts[place].isClosed = true }
    return parts
  }

  var isInPlace: Bool { directory.isInPlace() }

  /// Replaces trouble that comes from a missing directory: when the directory is gone, that is the reason worth
  /// reporting, not the call that failed.
  func explained(_ trouble: DiskTrouble) -> DiskTrouble {
    guard trouble.kind != .full, !directory.isInPlace() else { return trouble }
    return .directoryIsGone
  }

  /// Tries whether a picture could be written now, and throws what prevents it.
  func probe(keepingFree minFree: DiskLimits.MinFree) throws(DiskTrouble) {
    guard directory.isInPlace() else { throw .directoryIsGone }
    do throws(SystemFailure) {
      _ = try pictures.prepare(Payload([0]))
      var room = try room(keepingFree: minFree)
      guard room.takeBytes(1) else { throw SystemFailure.reserved }
    } catch { throw DiskTrouble(error) }
    try commit { index throws(IndexProblem) in try index.unlinks.forget([]) }
  }

  func room(keepingFree minFree: DiskLimits.MinFree) throws(SystemFailure) -> DiskRoom {
    guard minFree.isOn else { return DiskRoom(left: .max) }
    let space = try pictures.freeSpace()
    return DiskRoom(left: space.free - minFree.bytes(of: space.total))
  }
}

/// The bytes that may be written before the file system would have too little left.
struct DiskRoom {
  private(set) var left: Int

  /// How many bytes have to go before anything can be written.
  var missing: Int { max(-left, 0) }

  mutating func takeBytes(_ count: Int) -> Bool {
    guard count <= left else { return false }
    left -= count
    return true
  }
}

struct SearchPart: Sendable {
  let matches: [IndexMatch]
  let isLast: Bool
  /// Whether the whole search has found nothing, so that its purge needs no row any more.
  var isClosed = false
}
