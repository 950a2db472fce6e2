internal import ImgdSystem

extension DiskTier {
  /// How much the tier may hold, and for how long.
  package struct Limits: Sendable, Equatable {
    /// Above this, strictly, entries are removed, the least recently used first.
    package let capacity: Int
    /// What is left then, in percent of the capacity.
    package let trimToPercent: Int
    /// An entry of this age goes, whatever its use; nil for no limit.
    package let maxAge: Duration?
    /// What stays free of the file system.
    package let minFree: MinFree
    /// How long a path that was handed out stays.
    package let lease: Duration

    package init(
      capacity: Int, trimToPercent: Int, maxAge: Duration?, minFree: MinFree, lease: Duration
    ) {
      self.capacity = capacity
      self.trimToPercent = trimToPercent
      self.maxAge = maxAge
      self.minFree = minFree
      self.lease = lease
    }

    /// What is left after a trim.
    package var preferred: Int {
      capacity / 100 * trimToPercent + capacity % 100 * trimToPercent / 100
    }
  }

  /// A part of the file system, or a number of bytes.
  package enum MinFree: Sendable, Equatable {
    case bytes(Int)
    case percent(Int)

    func bytes(of total: Int) -> Int {
      switch self {
      case .bytes(let bytes): bytes
      case .percent(let percent): total / 100 * percent
      }
    }

    var isOn: Bool { self != .bytes(0) && self != .percent(0) }
  }

  /// What has happened since the start.
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

/// What happens in the disk tier by itself.
package enum DiskNews {
  case stored(bytes: Int)
  case evicted(Removal)
  /// Something does not work; for the log.
  case trouble(String)
  case damaged(String)
  case recovered
}
