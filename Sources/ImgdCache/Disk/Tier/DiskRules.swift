internal import ImgdSystem

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

  /// Notes the size of the file system, which the capacity may depend on.
  func note(fileSystem total: Int) { limits.fileSystem = total }

  func isTooOld(_ entry: DiskEntry) -> Bool {
    guard let maxAge = limits.maxAge else { return false }
    return Int64(entry.storedAt) <= wall - maxAge.wholeSeconds
  }
}

extension DiskLimits { fileprivate var leaseSeconds: Int64 { (lease.nanoseconds + 999_999_999) / 1_000_000_000 } }
