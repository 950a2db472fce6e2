/// A point in an answer at which the origin waits until the test opens the gate.
package final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var arrivals = 0
    var waiting: [() -> Void] = []
  }

  private let state = Shared(State())

  package init() {}

  /// Opens the gate for present and later answers.
  package func open() {
    let waiting = state.with { state in
      defer { state.waiting = [] }
      state.isOpen = true
      return state.waiting
    }
    for goOn in waiting { goOn() }
  }

  /// How often the gate was reached.
  package var arrivals: Int { state.with { $0.arrivals } }

  /// Waits until the origin reaches the gate for the `count`th time; false if it does not.
  @discardableResult
  package func waitUntilReached(_ count: Int = 1) -> Bool {
    state.wait { $0.arrivals >= count ? true : nil } ?? false
  }

  /// Goes on when the gate is open: at once, or on the thread that opens it.
  package func pass(then goOn: @escaping () -> Void) {
    let isOpen = state.with { state in
      state.arrivals += 1
      if !state.isOpen { state.waiting.append(goOn) }
      return state.isOpen
    }
    if isOpen { goOn() }
  }

  func pass() {
    state.with { $0.arrivals += 1 }
    // Twice as long as the test waits for what is to come first.
    _ = state.wait(atMost: Patience.limit * 2) { $0.isOpen ? true : nil }
  }
}
