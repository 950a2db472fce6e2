// The answers and reports of the disk tier, in one place: the parts behind the façade use these types, not the façade.

/// What the tier can do at this moment, as `stats` shows it.
package enum DiskState: String, Sendable {
  case ok
  case readOnly = "read-only"
  /// Nothing is found or stored until the directory can be used.
  case down
  case off
}

/// The details of an entry on disk.
package struct EntryDetails: Sendable {
  package let url: String
  package let identifier: String?
  /// Nil when the details come from memory alone (`ReadyHits`).
  package let key: CacheKey?
  package let facts: ImageFacts
  package let bytes: Int
  package let age: Int
  package let freshFor: Int
  /// The time of storing, in seconds since 1970.
  package let storedAt: Int64
  let lastAccess: Int64
  /// Whether there is a file; `path` means nothing otherwise.
  package let hasBody: Bool
  /// Its owner and its tags; these are left empty when the details come from memory alone.
  package let claims: EntryClaims
  package let path: String
}

/// A form on disk, and how the daemon writes it in keys; that is empty for one that an earlier release has stored.
package struct StoredFormText: Sendable {
  package let text: String
  package let facts: ImageFacts
}

/// Some of the entries, in the order in which they were stored.
package struct EntryPage {
  package var entries: [EntryDetails] = []
  /// The cursor of the next page; nil after the last one.
  package var next: UInt64?
}

/// Whether an image's file can be handed out.
package enum PathLending: Equatable {
  /// Its path, which the image has, stays for the time of the lease.
  case lent
  /// It is being written, or looked at; see `whenSettled`.
  case waiting
  case refused(PathRefusal)
}

/// Why there is no path to an image.
package enum PathRefusal: Sendable {
  case off, down, readOnly, full, busy
  case noStore, credentials, tooLarge, purged
  /// The request does not want it stored on disk.
  case notWanted
  /// It was on disk, but is no longer there.
  case lost
}

/// What became of a purge on disk.
package enum PurgeOutcome: Sendable, Equatable {
  /// All entries that matched are gone, or marked stale, for good; after a loss of power once that is synced.
  case done(Removal)
  /// The disk refuses every write. The purge is in force and written down elsewhere, so that it outlives
  /// a kill; it is carried out as soon as the disk can be written.
  case pending
  /// It is in force, but could not be written down anywhere: it is lost if the process is killed before the
  /// disk can be written.
  case unrecorded(reason: String, isFull: Bool)
}

/// An event in the disk tier that is not the answer to a client.
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

/// The bytes of memory that the tier takes, by what it needs them for. All but those of pictures are estimates.
package struct HeldBytes: Sendable, Equatable {
  /// The entries as the control loop has them.
  package internal(set) var index = 0
  /// Pictures on their way to the disk, and notes about the fleet.
  package internal(set) var stores = 0
  /// Paths that were handed out, and files that are being looked at.
  package internal(set) var leases = 0
  /// Entries that still have to go, and purges that have to find their entries.
  package internal(set) var removals = 0
  /// The pages and statements of the index file.
  package internal(set) var database = 0

  package var total: Int { index + stores + leases + removals + database }
}

/// The outcome of a look: what was found at once, or that a callback will bring it later.
package enum Look<Found> {
  case now(Found)
  case later

  /// Passes what was found at once to a closure.
  package func passOn(to then: (Found) -> Void) { if case .now(let found) = self { then(found) } }

  /// The outcome with what was found at once converted by a closure.
  package func map<Other>(_ change: (Found) -> Other) -> Look<Other> {
    switch self {
    case .now(let found): .now(change(found))
    case .later: .later
    }
  }
}
