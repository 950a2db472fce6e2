/// A purge for all hosts of a fleet.
package struct FleetPurge: Sendable, Equatable {
  package let filter: PurgeFilter
  /// Whether entries are only marked as stale.
  package let isSoft: Bool
  /// In seconds since 1970, by the clock of this machine; the filter's ages count back from here.
  package let askedAt: Int64
  /// A random number that tells purges apart.
  package let nonce: UInt64

  package init(_ filter: PurgeFilter, isSoft: Bool, askedAt: Int64, nonce: UInt64) {
    self.filter = filter
    self.isSoft = isSoft
    self.askedAt = askedAt
    self.nonce = nonce
  }
}
