extension DiskTier {
  /// The events since the start.
  package struct Counts: Sendable, Equatable {
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
}

/// An event in the disk tier that no client has asked for.
package enum DiskNews {
  case stored(CachedImage, bytes: Int)
  case evicted(Removal)
  /// Something does not work; for the log.
  case trouble(String)
  case damaged(String)
  case recovered
}

/// The numbers and the news that the tier gives out.
final class DiskReports {
  private(set) var counts = DiskTier.Counts()
  /// Set once by the composition of the daemon.
  var onNews: (DiskNews) -> Void = { _ in }

  func hit() { counts.hits += 1 }

  func miss() { counts.misses += 1 }

  func purge() { counts.purges += 1 }

  func writeError() { counts.writeErrors += 1 }

  func stored(isReplacement: Bool) {
    if isReplacement { counts.replacements += 1 } else { counts.insertions += 1 }
  }

  func evicted(_ removal: Removal) {
    counts.evictions += removal.entries
    counts.evictedBytes += removal.bytes
    onNews(.evicted(removal))
  }

  func damaged(_ description: String) {
    counts.corrupt += 1
    onNews(.damaged(description))
  }
}
