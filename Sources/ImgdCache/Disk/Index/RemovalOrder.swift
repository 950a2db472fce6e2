internal import ImgdSystem

/// A purge as the index file keeps it until it has been carried out.
package struct RemovalOrder: Sendable, Equatable {
  /// The number of its row; nil while it has not been written.
  package var id: Int64?
  package let filter: PurgeFilter
  /// Whether entries are only marked as stale.
  package let isSoft: Bool
  /// In seconds since 1970; the filter's ages count back from here.
  package let askedAt: Int64
  /// The number of the last entry that it covers; entries that are stored later stay.
  package var ceiling: UInt32 = .max
  /// Until when a later process leaves the files in place, since it does not know their leases.
  package let keepUntil: Int64

  package init(_ filter: PurgeFilter, isSoft: Bool, askedAt: Int64, keepUntil: Int64 = 0) {
    self.filter = filter
    self.isSoft = isSoft
    self.askedAt = askedAt
    self.keepUntil = keepUntil
    storedBefore = filter.olderThan.map { askedAt - $0.wholeSeconds + 1 }
    usedBefore = filter.unusedFor.map { askedAt - $0.wholeSeconds + 1 }
    staleAt = filter.expired ? askedAt : nil
  }

  /// Whether every entry up to the ceiling goes, whatever it is.
  package var takesEverything: Bool { filter.matchesAll && !isSoft }

  /// Whether no index leads to its entries, so that every row has to be looked at.
  var needsScan: Bool {
    filter.digest == nil && filter.url == nil && filter.tag == nil && filter.prefix == nil && filter.host == nil
  }

  // Rounded to whole seconds: removing an entry needlessly is the safe mistake. They are computed once, since many
  // entries are compared with them.

  /// It covers entries that were stored before this second.
  let storedBefore: Int64?
  /// It covers entries that were last used before this second.
  let usedBefore: Int64?
  /// It covers entries that are no longer fresh at this second.
  let staleAt: Int64?
}

extension Duration { var wholeSeconds: Int64 { nanoseconds / 1_000_000_000 } }
