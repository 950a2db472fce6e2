internal import ImgdSystem

/// A use of an entry that has not been written to the index file yet.
typealias Use = (number: UInt32, at: Int64)

/// The directory and the index file while they are open for writing; it finds out the reasons for trouble.
final class OpenDisk {
  /// How many rows are looked at in one go.
  private static let mostExamined = 4_096
  /// How many entries are found in one go: they all leave the index in memory in one tick of the control loop.
  static let mostFound = 256

  let directory: DiskDirectory
  let shelves: PictureShelves
  private let index: IndexFile
  /// The search of a purge that is looking for its entries.
  private var search: IndexSearch?
  /// The pass in which several purges look for their entries.
  private var scan: IndexScan?

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

  // MARK: The index

  /// Makes changes to the index, all or nothing.
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

  func note(_ uses: [Use]) throws(DiskTrouble) {
    guard !uses.isEmpty else { return }
    try commit { index throws(IndexProblem) in try index.entries.touch(uses) }
  }

  /// Rewrites the row of a stored picture that the origin has confirmed; its file stays.
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

  // MARK: The file system

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

  /// The room for further files at this moment.
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

  /// Takes the room for a file; false when there is too little.
  mutating func takeBytes(_ count: Int) -> Bool {
    guard count <= left else { return false }
    left -= count
    return true
  }
}

/// The outcome of one part of a search.
struct SearchPart: Sendable {
  let matches: [IndexMatch]
  let isLast: Bool
  /// Whether the whole search has found nothing, so that its purge needs no row any more.
  var isClosed = false
}
