import ImgdCache
import ImgdSystem

/// The purges of the whole fleet, as far as this host has heard them: what the server has may be older than one
/// that means it.
///
/// A picture is stored with the last purge that its host had heard when its transfer was begun. Whoever finds
/// it asks here whether a later one is about it.
final class PurgeHistory {
  /// What becomes of a picture of the server.
  enum Verdict {
    case untouched
    /// A soft purge means it, or it is not known whether any does: its origin has to confirm it.
    case stale
    case purged
  }

  /// The last purge that was heard; nil as long as the log has not been read.
  private(set) var position: FleetPosition?

  func verdict(
    on key: CacheKey, tags: [String], mark: FleetPosition, age: Duration
  ) -> Verdict {
    .stale
  }
}
