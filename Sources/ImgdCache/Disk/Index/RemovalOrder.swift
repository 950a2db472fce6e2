internal import ImgdSystem

/// A purge as the index file keeps it until it has been carried out.
package struct RemovalOrder: Sendable, Equatable {
  /// Its row; nil as long as it could not be written.
  package var id: Int64?
  package let filter: PurgeFilter
  /// Entries are only marked as stale.
  package let isSoft: Bool
  /// In seconds since 1970; the filter's ages count back from here.
  package let askedAt: Int64
  /// The last entry that is meant; those that are stored later are not.
  package var ceiling: UInt32 = .max
  /// Files that a later process removes stay until then: it does not know their leases.
  package let keepUntil: Int64

  package init(_ filter: PurgeFilter, isSoft: Bool, askedAt: Int64, keepUntil: Int64 = 0) {
    self.filter = filter
    self.isSoft = isSoft
    self.askedAt = askedAt
    self.keepUntil = keepUntil
  }

  /// Every entry up to the ceiling goes, whatever it is.
  package var takesEverything: Bool { filter.matchesAll && !isSoft }

  // Whole seconds: rather one entry too many goes than one too few.

  /// Entries that were stored before this second are meant.
  var storedBefore: Int64? { filter.olderThan.map { askedAt - $0.wholeSeconds + 1 } }
  /// Entries that were last used before this second are meant.
  var usedBefore: Int64? { filter.unusedFor.map { askedAt - $0.wholeSeconds + 1 } }
  /// Entries that are no longer fresh at this second are meant.
  var staleAt: Int64? { filter.expired ? askedAt : nil }
}

extension Duration {
  var wholeSeconds: Int64 { nanoseconds / 1_000_000_000 }
}
