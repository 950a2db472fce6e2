internal import CSQLite

extension DiskTier {
  /// The bytes of memory that the tier takes, by what it holds them for. All but those of pictures are
  /// estimates.
  package struct Held: Sendable, Equatable {
    /// The entries, as far as the control loop knows them.
    package internal(set) var index = 0
    /// Pictures on their way to the disk, and notes about the fleet.
    package internal(set) var stores = 0
    /// Paths that were handed out, and files that are being looked at.
    package internal(set) var leases = 0
    /// Entries that have still to go, and purges that have to find theirs.
    package internal(set) var removals = 0
    /// The pages and statements of the index file.
    package internal(set) var database = 0

    package var total: Int { index + stores + leases + removals + database }
  }
}

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

  var held: DiskTier.Held {
    DiskTier.Held(
      index: index.heldBytes,
      stores: stores.bytes + stores.count * Self.record + fleet.heldBytes,
      leases: leases.count * Self.lease,
      removals: removals.numbersHeld * MemoryLayout<UInt32>.stride + pending.count * Self.purge,
      database: Int(sqlite3_memory_used()))
  }
}
