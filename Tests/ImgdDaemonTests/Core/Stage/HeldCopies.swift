import ImgdTestSupport

@testable import ImgdDaemon

/// Copies that hang, as in a file system that does not answer, until the test lets them go on.
final class HeldCopies: Sendable {
  private struct State {
    var begun = 0
    var isHeld = true
  }

  private let state = Shared(State())

  @Sendable func copy(_ work: HandedBytes.Work) -> HandedBytes.Outcome? {
    state.with { $0.begun += 1 }
    _ = state.wait { $0.isHeld ? nil : true }
    return HandedBytes.copy(work)
  }

  /// Waits until so many threads hang; false if they never do.
  func waitUntilHeld(_ count: Int) -> Bool { state.wait { $0.begun >= count ? true : nil } ?? false }

  var begun: Int { state.with { $0.begun } }

  func letGo() { state.with { $0.isHeld = false } }
}
