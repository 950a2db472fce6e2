// What the disk tier answers and reports, in one place: the parts behind the façade name these types and not it.

/// The abilities of the tier at this moment, as `stats` says them.
package enum DiskState: String, Sendable {
  case ok
  case readOnly = "read-only"
  /// Nothing is found and nothing stored until the directory can be used.
  case down
  /// There is none.
  case off
}

// MARK: Finding

/// The details of an entry on disk.
package struct EntryDetails: Sendable {
  package let url: String
  package let identifier: String?
  package let facts: ImageFacts
  package let bytes: Int
  package let age: Int
  package let freshFor: Int
  /// Seconds since 1970.
  package let storedAt: Int64
  /// Empty where the details come from memory alone (`ReadyHits`).
  package let tags: [String]
  package let path: String
}

/// Some of the entries, in the order in which they were stored.
package struct EntryPage {
  package var entries: [EntryDetails] = []
  /// The cursor of the next page; nil when there is nothing more.
  package var next: UInt64?
}

// MARK: Storing and lending

/// Whether an image's file can be handed out.
package enum PathLending: Equatable {
  /// Its path stays for the time of the lease; the image knows it.
  case lent
  /// It is being written, or looked at; see `whenSettled`.
  case waiting
  case refused(PathRefusal)
}

/// Why there is no path to an image.
package enum PathRefusal: Sendable, CaseIterable {
  case off, down, readOnly, full, busy
  case noStore, credentials, tooLarge, purged
  /// The request does not want it stored on disk.
  case notWanted
  /// It was on disk, and is not any more.
  case lost
}

// MARK: Removing

/// What the disk tier says to a purge.
package enum PurgeOutcome: Sendable, Equatable {
  /// All that matched is gone, or marked, for good.
  case done(Removal)
  /// The disk refuses every write. The purge is in force and written down elsewhere, so that it outlives
  /// a kill; it is carried out as soon as the disk can be written.
  case pending
  /// It is in force, and could be written down nowhere: it is lost if the process is killed before the
  /// disk can be written.
  case unrecorded(reason: String, isFull: Bool)
}

// MARK: News and figures

/// An event in the disk tier that no client has asked for.
package enum DiskNews {
  case stored(CachedImage, bytes: Int)
  case evicted(Removal)
  /// Something does not work; for the log.
  case trouble(String)
  case damaged(String)
  case recovered
}

/// The events since the start.
package struct DiskCounts: Sendable, Equatable {
  package internal(set) var hits = 0
  package internal(set) var misses = 0
  package internal(set) var insertions = 0
  package internal(set) var replacements = 0
  package internal(set) var evictions = 0
  package internal(set) var evictedBytes = 0
  package internal(set) var purges = 0
  package internal(set) var writeErrors = 0
  /// Files that were not, or no longer, what had been stored.
  package internal(set) var corrupt = 0
}

/// The bytes of memory that the tier takes, by what it holds them for. All but those of pictures are
/// estimates.
package struct HeldBytes: Sendable, Equatable {
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
