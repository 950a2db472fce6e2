internal import CSQLite

extension DiskParts {
  /// An estimate for a picture on its way: its record and what belongs to it, without its bytes.
  private static let record = 1_024
  /// An estimate for a lease, in the table and in the queue of endings.
  private static let lease = 48
  private static let purge = 1_024

  /// What the tier holds in memory, computed without passing over it.
  var held: HeldBytes {
    guard health.state != .off else { return HeldBytes() }
    return HeldBytes(
      index: index.heldBytes, stores: stores.bytes + stores.count * Self.record + fleet.heldBytes,
      leases: leases.count * Self.lease,
      removals: removals.numbersHeld * MemoryLayout<UInt32>.stride + pending.count * Self.purge,
      database: Int(sqlite3_memory_used()))
  }
}
