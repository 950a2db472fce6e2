import Glibc
internal import ImgdSystem

/// One picture on its way to the disk.
struct StoreOrder: Sendable {
  /// Its number, its room on disk and its checksum are filled in when they are known.
  let row: IndexRow
  let payload: Payload
  /// Until when the file that it replaces stays.
  let keepReplacedUntil: Int64
}

/// Stores pictures: files without names, one commit of their rows, then the names.
struct PictureStore {
  private let disk: OpenDisk

  init(_ disk: OpenDisk) {
    self.disk = disk
  }

  /// A picture that has been copied and has no name yet.
  private final class Draft {
    let prepared: PreparedFile
    init(_ prepared: consuming PreparedFile) { self.prepared = prepared }
  }

  /// Stores some pictures under one commit; each has its own outcome.
  func store(
    _ orders: [StoreOrder], keepingFree minFree: DiskTier.MinFree
  ) -> [Result<DiskEntry, DiskTrouble>] {
    var rows = orders.map(\.row)
    var outcomes = [Result<DiskEntry, DiskTrouble>?](repeating: nil, count: orders.count)
    var drafts = [Draft?](repeating: nil, count: orders.count)
    for place in orders.indices {
      do throws(DiskTrouble) {
        let draft = try prepare(orders[place], keepingFree: minFree)
        rows[place].allocated = draft.prepared.allocated
        rows[place].record.checksum = BodyChecksum(of: orders[place].payload)
        drafts[place] = draft
      } catch { outcomes[place] = .failure(error) }
    }
    let kept = drafts.indices.filter { drafts[$0] != nil }
    var retired: [PendingUnlink] = []
    do throws(DiskTrouble) {
      try disk.commit { index throws(IndexProblem) in
        for place in kept {
          let added = try index.entries.insert(
            rows[place], retiring: orders[place].keepReplacedUntil)
          rows[place].number = added.number
          if let file = added.retired { retired.append(file) }
        }
      }
    } catch {
      return outcomes.map { $0 ?? .failure(error) }
    }
    for place in kept {
      if let draft = drafts[place] { outcomes[place] = link(draft, as: rows[place]) }
    }
    try? EntryRemoval(disk).unlink(retired.filter { $0.keepUntil <= 0 })
    return outcomes.map { $0 ?? .failure(DiskTrouble(.broken, "a picture was not stored")) }
  }

  private func prepare(
    _ order: StoreOrder, keepingFree minFree: DiskTier.MinFree
  ) throws(DiskTrouble) -> Draft {
    do throws(SystemFailure) {
      if try disk.missing(order.payload.count, keepingFree: minFree) > 0 {
        throw SystemFailure.reserved
      }
      return Draft(try disk.pictures.prepare(order.payload))
    } catch {
      throw disk.explained(DiskTrouble(error))
    }
  }

  /// A row whose file could not be linked goes again.
  private func link(_ draft: Draft, as row: IndexRow) -> Result<DiskEntry, DiskTrouble> {
    guard let file = row.file else {
      return .failure(DiskTrouble(.broken, "'\(row.suffix)' is no extension of a file"))
    }
    do throws(SystemFailure) {
      do throws(SystemFailure) {
        try disk.pictures.link(draft.prepared, as: file)
      } catch {
        // After an index was lost, numbers begin again: no row knows of the file that has the name.
        guard error.errno == EEXIST else { throw error }
        try disk.pictures.remove(file)
        try disk.pictures.link(draft.prepared, as: file)
      }
      return .success(DiskEntry(row))
    } catch {
      try? EntryRemoval(disk).remove([row.number], at: .max)
      return .failure(disk.explained(DiskTrouble(error)))
    }
  }
}

extension SystemFailure {
  /// There is room, and it is not for us.
  static var reserved: SystemFailure {
    SystemFailure("keep free what Disk.MinFree wants", errno: ENOSPC)
  }
}
