import ImgdTestSupport

@testable import ImgdTransfer

/// Name servers that answer as the test has planned: names that are not planned never answer, until
/// they are released.
final class PlannedNames: Sendable {
  private struct State {
    var answers: [String: NameAnswer] = [:]
    var asked: [String] = []
    var waiting = 0
    var mostWaiting = 0
    var isReleased = false
  }

  private let state = Shared(State())

  deinit { release() }

  func plan(_ name: String, _ answer: NameAnswer) {
    state.with { $0.answers[name] = answer }
  }

  /// Lets every name that does not answer be unknown.
  func release() {
    state.with { $0.isReleased = true }
  }

  func lookUp(_ name: String) -> NameAnswer {
    state.with { state in
      state.asked.append(name)
      state.waiting += 1
      state.mostWaiting = max(state.waiting, state.mostWaiting)
    }
    defer { state.with { $0.waiting -= 1 } }
    return state.wait(atMost: Patience.limit * 10) { state in
      state.answers[name] ?? (state.isReleased ? .unknown : nil)
    } ?? .unknown
  }

  /// The names that were asked for, in order.
  var asked: [String] { state.with { $0.asked } }
  /// The most look-ups that waited at a time.
  var mostWaiting: Int { state.with { $0.mostWaiting } }

  /// Waits until so many look-ups wait; false if they do not come.
  func waitForLookups(_ count: Int) -> Bool {
    state.wait { $0.waiting >= count ? true : nil } ?? false
  }
}
