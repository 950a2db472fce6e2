internal import ImgdSystem

/// The limits in force, and the wall clock that ages are counted by.
final class DiskRules {
  private(set) var limits: DiskTier.Limits

  private let loop: EventLoop
  private let wallAtStart: Int64
  private let startedAt: Instant

  init(_ limits: DiskTier.Limits, loop: EventLoop, wall: Int64) {
    self.limits = limits
    self.loop = loop
    wallAtStart = wall
    startedAt = loop.now
  }

  /// Wall time by the monotonic clock: a clock that is set makes no entry younger or older.
  var wall: Int64 { wallAtStart + (loop.now - startedAt).wholeSeconds }

  var leaseSeconds: Int64 { (limits.lease.nanoseconds + 999_999_999) / 1_000_000_000 }

  /// Takes new limits; answers whether they are others.
  func replace(by limits: DiskTier.Limits) -> Bool {
    defer { self.limits = limits }
    return limits != self.limits
  }

  func isTooOld(_ entry: DiskEntry) -> Bool {
    guard let maxAge = limits.maxAge else { return false }
    return Int64(entry.storedAt) <= wall - maxAge.wholeSeconds
  }
}
