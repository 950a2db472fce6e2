internal import ImgdSystem

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
  /// Whether the bytes of pictures that have forms go before the forms do.
  package let shedsOriginals: Bool

  /// The capacity as it was set.
  let allowance: Capacity
  /// The size of the file system that holds the directory; nil while it is not known.
  var fileSystem: Int?

  package init(
    capacity: Capacity, trimToPercent: Int, maxAge: Duration?, minFree: MinFree, lease: Duration,
    shedsOriginals: Bool = true
  ) {
    allowance = capacity
    self.trimToPercent = trimToPercent
    self.maxAge = maxAge
    self.minFree = minFree
    self.lease = lease
    self.shedsOriginals = shedsOriginals
  }

  static let none = DiskLimits(capacity: .bytes(0), trimToPercent: 100, maxAge: nil, minFree: .bytes(0), lease: .zero)

  /// The bytes that are left after a trim.
  package var preferred: Int { capacity / 100 * trimToPercent + capacity % 100 * trimToPercent / 100 }

  fileprivate var leaseSeconds: Int64 { (lease.nanoseconds + 999_999_999) / 1_000_000_000 }

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

/// The limits in force, and the wall clock by which ages are counted.
final class DiskRules {
  private(set) var limits: DiskLimits
  /// The length of a lease in whole seconds. It is kept because dividing a duration takes 128-bit arithmetic, and
  /// every hit by path needs it.
  private(set) var leaseSeconds: Int64

  private let loop: EventLoop
  private let wallAtStart: Int64
  private let startedAt: Instant

  init(_ limits: DiskLimits, loop: EventLoop, wall: Int64) {
    self.limits = limits
    leaseSeconds = limits.leaseSeconds
    self.loop = loop
    wallAtStart = wall
    startedAt = loop.now
  }

  /// Wall time by the monotonic clock: setting the wall clock makes no entry younger or older.
  var wall: Int64 { wallAtStart + (loop.now.nanoseconds - startedAt.nanoseconds) / 1_000_000_000 }

  /// Takes new limits, but keeps the known size of the file system; returns whether anything has changed.
  func replace(by limits: DiskLimits) -> Bool {
    var limits = limits
    limits.fileSystem = self.limits.fileSystem
    defer { self.limits = limits }
    leaseSeconds = limits.leaseSeconds
    return limits != self.limits
  }

  func note(fileSystem total: Int) { limits.fileSystem = total }

  func isTooOld(_ entry: DiskEntry) -> Bool {
    guard let maxAge = limits.maxAge else { return false }
    return Int64(entry.storedAt) <= wall - maxAge.wholeSeconds
  }
}
