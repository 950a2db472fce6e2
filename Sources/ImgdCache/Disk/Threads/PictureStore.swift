import Glibc
internal import ImgdSystem

/// A picture to be stored. An object, since it goes through several hands, and holds much.
final class StoreOrder: Sendable {
  /// The row; its number, the header fields, the room on disk and an unknown checksum are filled in by the writer.
  let row: IndexRow
  let headers: StoredHeaders
  let payload: Payload
  let keepReplacedUntil: Int64

  init(row: IndexRow, headers: StoredHeaders, payload: Payload, keepReplacedUntil: Int64) {
    self.row = row
    self.headers = headers
    self.payload = payload
    self.keepReplacedUntil = keepReplacedUntil
  }

  /// The same for a picture that its origin has to confirm before it is shown again.
  var stale: StoreOrder {
    var row = row
    row.record.freshUntil = 0
    return StoreOrder(row: row, headers: headers, payload: payload, keepReplacedUntil: keepReplacedUntil)
  }
}

/// Stores pictures: first as files without names, then their rows in one commit, then the names.
struct PictureStore {
  let disk: OpenDisk
  let minFree: DiskLimits.MinFree

  private final class Draft {
    let prepared: PreparedFile
    /// Its entry, once its row is written.
    var entry: DiskEntry?
    init(_ prepared: consuming PreparedFile) { self.prepared = prepared }
  }

  /// Stores some pictures, with one commit unless descriptors are short; each has its own outcome.
  func store(_ orders: [StoreOrder]) -> [Result<DiskEntry, DiskTrouble>] {
    var outcomes: [Result<DiskEntry, DiskTrouble>] = []
    while outcomes.count < orders.count {
      let drafts = prepare(orders[outcomes.count...])
      outcomes += commit(drafts, of: orders[outcomes.count...])
    }
    return outcomes
  }

  /// Writes pictures to files without names, each of which holds a descriptor until it has its name.
  /// It stops at the first descriptor from the reserve, which is kept for clients.
  private func prepare(_ orders: ArraySlice<StoreOrder>) -> [Result<Draft, DiskTrouble>] {
    var room = Result { () throws(SystemFailure) in try disk.room(keepingFree: minFree) }
    let firstReserved = OpenFiles.firstReserved
    var drafts: [Result<Draft, DiskTrouble>] = []
    for order in orders {
      let draft = Result { () throws(DiskTrouble) in try prepare(order, within: &room) }
      drafts.append(draft)
      if case .success(let draft) = draft, draft.prepared.descriptor.number >= firstReserved { break }
    }
    return drafts
  }

  private func commit(_ drafts: [Result<Draft, DiskTrouble>], of orders: ArraySlice<StoreOrder>) -> [Result<
    DiskEntry, DiskTrouble
  >] {
    var retired: [PendingUnlink] = []
    let result = Result { () throws(DiskTrouble) in
      try disk.commit { index throws(IndexProblem) in
        for (draft, order) in zip(drafts, orders) {
          guard case .success(let draft) = draft else { continue }
          var row = order.row
          row.record.headers = order.headers.packed
          row.allocated = draft.prepared.allocated
          if row.record.checksum == .unknown { row.record.checksum = BodyChecksum(of: order.payload) }
          let added = try index.entries.insert(row, retiring: order.keepReplacedUntil)
          draft.entry = added.entry
          if let file = added.retired { retired.append(file) }
        }
      }
    }
    let outcomes = zip(drafts, orders).map { draft, order in
      draft.flatMap { draft in result.flatMap { link(draft, suffix: order.row.suffix) } }
    }
    if case .success = result { try? EntryRemoval(disk: disk).unlink(retired.filter { $0.keepUntil <= 0 }) }
    return outcomes
  }

  private func prepare(_ order: StoreOrder, within room: inout Result<DiskRoom, SystemFailure>) throws(DiskTrouble)
    -> Draft
  {
    do throws(SystemFailure) {
      var left = try room.get()
      guard left.takeBytes(order.payload.count) else { throw SystemFailure.reserved }
      let draft = Draft(try disk.pictures.prepare(order.payload))
      room = .success(left)
      return draft
    } catch { throw disk.explained(DiskTrouble(error)) }
  }

  /// Gives the file of a row its name; if that fails, the row is removed again.
  private func link(_ draft: Draft, suffix: String) -> Result<DiskEntry, DiskTrouble> {
    guard var entry = draft.entry else { return .failure(.notStored) }
    guard let file = PictureFile(digest: entry.digest, number: entry.number, suffix: suffix) else {
      return .failure(DiskTrouble(.broken, "'\(suffix)' is no extension of a file"))
    }
    do throws(SystemFailure) {
      do throws(SystemFailure) { try disk.shelves.link(draft.prepared, as: file) } catch {
        // After an index was lost, numbers begin again, so the file that has the name belongs to no row.
        guard error.errno == EEXIST else { throw error }
        try disk.shelves.remove(file)
        try disk.shelves.link(draft.prepared, as: file)
      }
      entry.stamp = (try? draft.prepared.descriptor.status("a stored picture").stamp) ?? 0
      return .success(entry)
    } catch {
      try? EntryRemoval(disk: disk).remove([entry.number], at: .max)
      return .failure(disk.explained(DiskTrouble(error)))
    }
  }
}

extension SystemFailure {
  /// There is room, but it has to stay free.
  static var reserved: SystemFailure { SystemFailure("leave free what Disk.MinFree says", errno: ENOSPC) }
}

extension DiskTrouble { fileprivate static let notStored = DiskTrouble(.broken, "a picture was not stored") }
