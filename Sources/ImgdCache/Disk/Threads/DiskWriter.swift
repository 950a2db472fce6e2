// The thread of the disk tier that writes files, and the index file that names them.
//
// At every moment each file has a row that names it. A store commits its row before it links the
// file; a removal moves the row to the pending unlinks and commits before it removes the file. So a
// kill between two steps leaves a row without a file, or a pending unlink, and never a file that
// no row names.

import Glibc

/// A directory and its index that have just been opened.
struct OpenedDisk: Sendable {
  let directory: DiskDirectory
  /// Whether the last owner of the index closed it properly.
  let wasClean: Bool
  /// All entries, the most recently used first; nil if there are too many to wait for.
  let entries: [DiskEntry]?
  /// Purges that still have to be carried out.
  var removals: [RemovalOrder] = []
  /// The notes of an earlier process about the fleet.
  var fleet = FleetNotes()
  /// Why an earlier index was given up; nil if there was none, or if it was sound.
  var loss: String?

  /// Entries up to this number are gone, though their rows may still be there.
  var cleared: UInt32 { removals.filter(\.takesEverything).map(\.ceiling).max() ?? 0 }
}

/// The state of the writer's thread: the directory and the index, as long as they are open.
final class DiskWriter {
  /// The number of entries that are read in one go when the index is opened.
  private static let mostAtOnce = 4_096

  /// The file for purges that could not be written into the index.
  let owed: OwedFile
  private var opened: OpenDisk?

  init(owed: OwedFile) { self.owed = owed }

  /// The directory and the index; throws when they are not open.
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
      let index = try IndexFile(path: directory.indexPath, access: .readWrite)
      let disk = OpenDisk(directory, index: index)
      opened = disk
      let owed = takeOwed(disk)
      var all = try read(index, in: directory, isClean: index.wasClean && !mayHoldFiles)
      all.removals += owed
      return all
    } catch {
      let trouble = DiskTrouble(error)
      guard trouble.kind == .indexLost else { throw trouble }
      var new = try beginAnew(in: directory)
      new.loss = trouble.reason
      return new
    }
  }

  /// Writes purges into the index that an earlier process could not write there; returns them if that fails again.
  private func takeOwed(_ disk: OpenDisk) -> [RemovalOrder] {
    let orders = owed.read()
    guard !orders.isEmpty else { return [] }
    guard let recorded = try? EntryRemoval(disk).record(orders), recorded.allSatisfy({ $0.id != nil }) else {
      return orders
    }
    owed.remove()
    return []
  }

  /// Writes purges down and carries them out before the end, as far as time allows.
  func finish(_ orders: [RemovalOrder], leases: LeaseEnds, within time: Duration) {
    var left = orders
    if let opened { left = LastRemovals(opened, leases: leases).carryOut(recording: orders, within: time) }
    if left.isEmpty { owed.remove() } else { try? owed.write(left) }
  }

  private func read(_ index: IndexFile, in directory: DiskDirectory, isClean: Bool) throws(IndexProblem) -> OpenedDisk {
    let (removals, fleet) = (try index.removals.all(), try index.fleet.all())
    let all = OpenedDisk(directory: directory, wasClean: isClean, entries: nil, removals: removals, fleet: fleet)
    let entries = try index.entries.entries(after: all.cleared, limit: Self.mostAtOnce)
    guard entries.count < Self.mostAtOnce else { return all }
    return OpenedDisk(
      directory: directory, wasClean: isClean, entries: entries.sorted { $0.lastAccess > $1.lastAccess },
      removals: removals, fleet: fleet)
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
      opened = OpenDisk(directory, index: try IndexFile(path: directory.indexPath, access: .readWrite))
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
