/// A point in an answer at which the origin waits until the test opens the gate.
package final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var arrivals = 0
  }

  private let state = Shared(State())

  package init() {}

  /// Opens the gate for present and later answers.
  package func open() {
    state.with { $0.isOpen = true }
  }

  /// Waits until the origin reaches the gate for the `count`th time; false if it does not.
  @discardableResult
  package func waitUntilReached(_ count: Int = 1) -> Bool {
    state.wait { $0.arrivals >= count ? true : nil } ?? false
  }

  func pass() {
    state.with { $0.arrivals += 1 }
    _ = state.wait(seconds: 120) { $0.isOpen ? true : nil }
  }
}
