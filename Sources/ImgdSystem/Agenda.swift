/// Actions put off to a later point of a loop's cycle.
///
/// Two arrays take turns: what an action puts off waits in the other one, so that a round ends, and
/// neither array is ever touched while it lets go of what an action held.
final class Agenda {
  private var waiting: [() -> Void] = []
  private var running: [() -> Void] = []

  var isEmpty: Bool { waiting.isEmpty }

  func add(_ action: @escaping () -> Void) {
    waiting.append(action)
  }

  /// Runs what waits now, in order; answers whether there was anything.
  func runRound() -> Bool {
    guard !waiting.isEmpty else { return false }
    swap(&waiting, &running)
    for action in running { action() }
    running.removeAll(keepingCapacity: true)
    return true
  }
}
