internal import ImgdSystem

/// A use of an entry that the index file does not know of yet.
typealias Use = (number: UInt32, at: Int64)

/// The directory and the index file while they are open for writing, with trouble explained.
final class OpenDisk {
  /// So many rows are looked at in one go.
  private static let mostExamined = 4_096

  let directory: DiskDirectory
  private let index: IndexFile
  /// A purge that is looking for its entries.
  private var search: IndexSearch?

  init(_ directory: DiskDirectory, _ index: IndexFile) {
    self.directory = directory
    self.index = index
  }

  var pictures: PictureDirectory { directory.pictures }

  func giveBack() {
    index.giveBack()
  }

  func close(clean: Bool) {
    search = nil
    try? index.close(clean: clean)
  }

  // MARK: The index

  func commit<Answer>(
    _ body: (IndexFile) throws(IndexProblem) -> Answer
  ) throws(DiskTrouble) -> Answer {
    let answer: Answer
    do throws(IndexProblem) {
      answer = try index.write { () throws(IndexProblem) in try body(index) }
    } catch {
      throw explained(DiskTrouble(error))
    }
    guard index.isInPlace else { throw DiskTrouble(.gone, "the index file was removed") }
    return answer
  }

  func read<Answer>(
    _ body: (IndexFile) throws(IndexProblem) -> Answer
  ) throws(DiskTrouble) -> Answer {
    do throws(IndexProblem) { return try body(index) } catch { throw DiskTrouble(error) }
  }

  func note(_ uses: [Use]) throws(DiskTrouble) {
    guard !uses.isEmpty else { return }
    try commit { index throws(IndexProblem) in try index.entries.touch(uses) }
  }

  /// The origin has confirmed a stored picture: the file stays, its row is new.
  func renew(_ row: IndexRow) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in _ = try index.entries.renew(row) }
  }

  /// Has entries confirmed before they are used again, and with the last of them removes the row of
  /// the purge that they belong to.
  func markStale(_ numbers: [UInt32], closing id: Int64?) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in
      try index.entries.markStale(numbers)
      if let id { try index.removals.remove(id) }
    }
  }

  /// Begins to look for the entries that a purge means.
  func find(_ order: RemovalOrder) throws(DiskTrouble) -> SearchPart {
    search = nil
    search = try read { index throws(IndexProblem) in try index.search(order) }
    return try findMore()
  }

  func findMore() throws(DiskTrouble) -> SearchPart {
    guard let search else { throw DiskTrouble(.gone, "the index was opened anew") }
    do throws(IndexProblem) {
      let part = try search.next(examining: Self.mostExamined)
      if part.isLast { self.search = nil }
      return SearchPart(matches: part.matches, isLast: part.isLast)
    } catch {
      self.search = nil
      throw DiskTrouble(error)
    }
  }

  // MARK: The file system

  var isInPlace: Bool { directory.isInPlace() }

  /// A failed call in a directory that was removed tells nothing; that it was does.
  func explained(_ trouble: DiskTrouble) -> DiskTrouble {
    guard trouble.kind != .full, !directory.isInPlace() else { return trouble }
    return DiskTrouble(.gone, "the cache directory was removed")
  }

  /// Whether a picture could be written now.
  func probe(keepingFree minFree: DiskTier.MinFree) throws(DiskTrouble) {
    guard directory.isInPlace() else { throw DiskTrouble(.gone, "the directory was removed") }
    do throws(SystemFailure) {
      _ = try pictures.prepare(Payload([0]))
      if try missing(1, keepingFree: minFree) > 0 { throw SystemFailure.reserved }
    } catch { throw DiskTrouble(error) }
    try commit { index throws(IndexProblem) in try index.unlinks.forget([]) }
  }

  /// How many bytes have to go before `count` can be written.
  func missing(
    _ count: Int = 0, keepingFree minFree: DiskTier.MinFree
  ) throws(SystemFailure) -> Int {
    guard minFree.isOn else { return 0 }
    let space = try pictures.freeSpace()
    let (wanted, isTooMuch) = minFree.bytes(of: space.total).addingReportingOverflow(count)
    return isTooMuch ? .max : max(wanted - space.free, 0)
  }
}

/// The outcome of one part of a search.
struct SearchPart: Sendable {
  let matches: [IndexMatch]
  let isLast: Bool
}
