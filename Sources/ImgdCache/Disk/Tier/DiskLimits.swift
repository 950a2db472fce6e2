internal import ImgdSystem

extension DiskTier {
  /// How much the tier may hold, and for how long.
  package struct Limits: Sendable, Equatable {
    /// Above this, strictly, entries are removed, the least recently used first.
    package let capacity: Int
    /// The rest that is left then, in percent of the capacity.
    package let trimToPercent: Int
    /// An entry of this age goes, whatever its use; nil for no limit.
    package let maxAge: Duration?
    /// The part of the file system that stays free.
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

    /// Of a tier that is off.
    static let none = Limits(
      capacity: 0, trimToPercent: 100, maxAge: nil, minFree: .bytes(0), lease: .zero)

    /// The bytes that are left after a trim.
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
}
