internal import CLinux
import Glibc
import Synchronization

/// Wakes a loop that sleeps; a loop that is awake looks anyway before it sleeps again.
///
/// One number holds the state of the loop. A thread that has left something for the loop sets the state
/// to `rung`, and writes to the descriptor only if it was `asleep`. The loop falls asleep only if the
/// state is `awake`, so that an earlier ring is seen, and a later one writes: none is lost.
final class LoopBell: Sendable {
  private static let awake: UInt8 = 0
  private static let asleep: UInt8 = 1
  private static let rung: UInt8 = 2

  private let state = Atomic(LoopBell.awake)
  private let wakeup: FileDescriptor

  init() throws(SystemFailure) {
    let number = linux_eventfd()
    guard number >= 0 else { throw SystemFailure("eventfd") }
    wakeup = FileDescriptor(owning: number)
  }

  /// Readable once for each write, when watched for edges: nobody needs to read it.
  var descriptor: CInt { wakeup.number }

  /// Makes the loop look for what was left for it; called on any thread, after leaving it.
  func ring() {
    guard state.exchange(Self.rung, ordering: .acquiringAndReleasing) == Self.asleep else { return }
    var one: UInt64 = 1
    _ = unsafe write(wakeup.number, &one, 8)
  }

  /// Says that the loop is going to sleep; false when it must look first.
  func fallAsleep() -> Bool {
    state.compareExchange(expected: Self.awake, desired: Self.asleep, ordering: .acquiringAndReleasing).exchanged
  }

  /// Says that the loop is awake; true when it must look.
  func wakeUp() -> Bool { state.exchange(Self.awake, ordering: .acquiringAndReleasing) == Self.rung }
}
