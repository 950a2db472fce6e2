internal import CSQLite

extension DiskParts {
  /// A record and what belongs to it, beside the bytes of the picture.
  private static let record = 1_024
  /// A lease in its table and in its line.
  private static let lease = 48
  private static let purge = 1_024

  /// What the tier holds in memory, without a look at all of it.
  var held: HeldBytes {
    guard health.state != .off else { return HeldBytes() }
    return HeldBytes(
      index: index.heldBytes,
      stores: stores.bytes + stores.count * Self.record + fleet.heldBytes,
      leases: leases.count * Self.lease,
      removals: removals.numbersHeld * MemoryLayout<UInt32>.stride + pending.count * Self.purge,
      database: Int(sqlite3_memory_used()))
  }
}
