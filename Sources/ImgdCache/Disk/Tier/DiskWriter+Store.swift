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

extension DiskWriter {
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
    try? removeFiles(retired.filter { $0.keepUntil <= 0 })
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
      try directory.link(draft.prepared, as: file)
      return .success(row.record)
    } catch {
      try? doom([row.record.number], leases: [:], at: .max)
      return .failure(explained(DiskTrouble(error)))
    }
  }
}
