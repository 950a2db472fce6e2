import ImgdTestSupport

@testable import ImgdDaemon

/// Copies that hang, as in a file system that does not answer, until the test lets them go on.
final class HeldCopies: Sendable {
  private struct State {
    var begun: Set<UInt64> = []
    var isHeld = true
    var free: Set<UInt64> = []
  }

  private let state = Shared(State())

  @Sendable func copy(_ work: HandedBytes.Work) -> HandedBytes.Outcome? {
    state.with { _ = $0.begun.insert(work.serial) }
    _ = state.wait { $0.isHeld && !$0.free.contains(work.serial) ? nil : true }
    return HandedBytes.copy(work)
  }

  /// Waits until so many threads hang; false if they never do.
  func waitUntilHeld(_ count: Int) -> Bool { state.wait { $0.begun.count >= count ? true : nil } ?? false }

  /// What threads have begun, by number.
  var begun: Set<UInt64> { state.with { $0.begun } }

  func letGo(of number: UInt64) { state.with { _ = $0.free.insert(number) } }

  func letGo() { state.with { $0.isHeld = false } }
}
