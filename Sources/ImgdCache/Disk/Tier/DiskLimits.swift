/// How much the tier may hold, and for how long.
package struct DiskLimits: Sendable, Equatable {
  /// Entries are removed when the tier holds more than this.
  package var capacity: Int { allowance.bytes(onFileSystemOf: fileSystem) }
  /// How much is left after that, in percent of the capacity.
  package let trimToPercent: Int
  /// An entry of this age goes, however recently it was used; nil for no limit.
  package let maxAge: Duration?
  /// The part of the file system that stays free.
  package let minFree: MinFree
  /// How long a path that was handed out stays.
  package let lease: Duration

  /// The capacity as it was set.
  let allowance: Capacity
  /// The size of the file system that holds the directory; nil while it is not known.
  var fileSystem: Int?

  package init(capacity: Capacity, trimToPercent: Int, maxAge: Duration?, minFree: MinFree, lease: Duration) {
    allowance = capacity
    self.trimToPercent = trimToPercent
    self.maxAge = maxAge
    self.minFree = minFree
    self.lease = lease
  }

  /// The limits of a tier that is off.
  static let none = DiskLimits(capacity: .bytes(0), trimToPercent: 100, maxAge: nil, minFree: .bytes(0), lease: .zero)

  /// The bytes that are left after a trim.
  package var preferred: Int { capacity / 100 * trimToPercent + capacity % 100 * trimToPercent / 100 }
}

extension DiskLimits {
  /// The room that pictures may take: a number of bytes, or a part of the file system.
  package enum Capacity: Sendable, Equatable {
    case bytes(Int)
    case share(percent: Int, most: Int)

    /// The capacity in bytes. For a share it is the upper limit while nothing is known of the file system, or if
    /// that does not tell its size.
    func bytes(onFileSystemOf total: Int?) -> Int {
      switch self {
      case .bytes(let bytes): bytes
      case .share(let percent, let most): total.flatMap { $0 > 0 ? min($0 / 100 * percent, most) : nil } ?? most
      }
    }

    var asksForFileSystem: Bool { if case .share = self { true } else { false } }
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
