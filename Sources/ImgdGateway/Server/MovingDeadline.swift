internal import ImgdSystem

/// A deadline that moves with every request, on a timer that is set anew only when it has fired.
final class MovingDeadline {
  private let loop: EventLoop
  private let action: () -> Void
  private var due: Instant?
  private var timer: Timer?

  init(on loop: EventLoop, _ action: @escaping () -> Void) {
    self.loop = loop
    self.action = action
  }

  deinit { timer?.cancel() }

  func set(after delay: Duration) {
    let due = loop.now + delay
    self.due = due
    guard let timer else { return arm(after: delay) }
    guard due < timer.deadline else { return }
    timer.cancel()
    arm(after: delay)
  }

  /// Removes the deadline until the next one is set.
  func clear() { due = nil }

  private func arm(after delay: Duration) { timer = loop.schedule(after: delay) { [weak self] in self?.fire() } }

  private func fire() {
    timer = nil
    guard let due else { return }
    if due > loop.now { return arm(after: due - loop.now) }
    self.due = nil
    action()
  }
}
