internal import ImgdSystem
import Synchronization

/// Slows transfers that share it down to a number of bytes a second, all of them together. Bytes are paid for before
/// they are accepted: each transfer waits for the end of those before it, so that they get equal shares.
package final class Throttle: Sendable {
  /// What may come at once after a time in which less came.
  private static let burst: Int64 = 100_000_000

  private let speed: Atomic<Int>
  /// When all that has been accepted is paid for, in nanoseconds of the clock.
  private let paidAt = Atomic<Int64>(0)

  package init(bytesPerSecond: Int) { speed = Atomic(bytesPerSecond) }

  /// Changes the speed, for transfers under way as well; nil lifts the limit.
  package func limit(to bytesPerSecond: Int?) { speed.store(bytesPerSecond ?? 0, ordering: .relaxed) }

  /// Pays for some bytes, and returns how long their transfer has to wait for them.
  func pay(for bytes: Int, at now: Instant) -> Duration {
    let speed = speed.load(ordering: .relaxed)
    guard speed > 0 else { return .zero }
    let earliest = now.nanoseconds - Self.burst
    let cost = Int64(bytes) * 1_000_000_000 / Int64(speed)
    var before = paidAt.load(ordering: .relaxed)
    while true {
      let after = max(before, earliest) + cost
      let (isDone, found) = paidAt.compareExchange(expected: before, desired: after, ordering: .relaxed)
      if isDone { return max(Instant(nanoseconds: after) - now, .zero) }
      before = found
    }
  }
}
