// The thread of the disk tier that writes: files, and the index file that names them.
//
// At every moment each file has a row that names it. A store commits its row before it links the
// file; a removal moves the row to the doomed ones and commits before it removes the file. So a kill
// between two steps leaves a row without a file, or a doomed row, and never a file that nobody
// knows.

internal import ImgdSystem

/// What there is after the directory and its index were opened.
struct DiskOpening: Sendable {
  let directory: DiskDirectory
  /// The last owner of the index closed it in order.
  let wasClean: Bool
}

final class DiskWriter {
  private(set) var directory: DiskDirectory?
  private(set) var index: IndexFile?

  /// Takes charge of a directory, and opens its index or begins a new one.
  func open(_ directory: DiskDirectory) throws(DiskTrouble) -> DiskOpening {
    close()
    self.directory = directory
    do throws(IndexProblem) {
      let index = try IndexFile(path: directory.indexPath, access: .readWrite)
      self.index = index
      return DiskOpening(directory: directory, wasClean: index.wasClean)
    } catch {
      let trouble = DiskTrouble(error)
      guard trouble.kind == .indexLost else { throw trouble }
      return try beginAnew(in: directory)
    }
  }

  /// Opens what the path leads to now: the directory was removed, or could not be opened before.
  func reopen(
    _ path: String, settingIndexAside isLost: Bool
  ) throws(DiskTrouble) -> DiskOpening {
    // The lock goes with the directory, so that it can be taken again.
    close()
    let directory: DiskDirectory
    do throws(DirectoryProblem) {
      directory = try DiskDirectory.open(path)
    } catch {
      throw DiskTrouble(.broken, error.description)
    }
    guard isLost else { return try open(directory) }
    self.directory = directory
    return try beginAnew(in: directory)
  }

  /// An index that cannot be read is kept for whoever wants to look at it. Its pictures are lost to
  /// us: they are found without a row, and removed.
  private func beginAnew(in directory: DiskDirectory) throws(DiskTrouble) -> DiskOpening {
    do throws(IndexProblem) {
      try IndexFile.setAside(path: directory.indexPath)
      index = try IndexFile(path: directory.indexPath, access: .readWrite)
      return DiskOpening(directory: directory, wasClean: false)
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
  func explained(_ trouble: DiskTrouble) -> DiskTrouble {
    guard trouble.kind != .full, directory?.isInPlace() == false else { return trouble }
    return DiskTrouble(.gone, "the cache directory was removed")
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

  func commit(
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
