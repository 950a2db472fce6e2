internal import CSQLite

/// Counts what the tier holds in memory, without looking at all of it.
struct DiskHolding {
  let index: DiskIndex
  let stores: DiskStores
  let fleet: StoredFleetNotes
  let leases: FileLeases
  let removals: DiskRemovals
  let pending: PendingPurges

  /// A record and what belongs to it, beside the bytes of the picture.
  private static let record = 1_024
  /// A lease in its table and in its line.
  private static let lease = 48
  private static let purge = 1_024

  var held: HeldBytes {
    HeldBytes(
      index: index.heldBytes,
      stores: stores.bytes + stores.count * Self.record + fleet.heldBytes,
      leases: leases.count * Self.lease,
      removals: removals.numbersHeld * MemoryLayout<UInt32>.stride + pending.count * Self.purge,
      database: Int(sqlite3_memory_used()))
  }
}
